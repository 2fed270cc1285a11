-- The tables of format 1 in PostgreSQL, as slipway 0.5.0 made them.
CREATE SCHEMA slipway;
CREATE TABLE slipway.format (single boolean PRIMARY KEY DEFAULT true CHECK (single), version integer NOT NULL);
CREATE TABLE slipway.head (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  revision bigint NOT NULL,
  pruned bigint NOT NULL,
  keep bigint NOT NULL DEFAULT 100000 CHECK (keep > 0)
) WITH (fillfactor = 10);
CREATE TABLE slipway.log (
  revision bigint PRIMARY KEY,
  kind bytea NOT NULL,
  key bytea NOT NULL,
  deleted boolean NOT NULL,
  api bytea NOT NULL,
  private bytea NOT NULL,
  mac bytea NOT NULL,
  writer bigint NOT NULL,
  replaces bigint
);
CREATE TABLE slipway.live (
  kind bytea NOT NULL,
  key bytea NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 80);
INSERT INTO slipway.format (version) VALUES (1);
