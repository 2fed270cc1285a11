/*
 * Seeded bugs: deliberate ones, which prove that tests and simulations find what they are there to find. They
 * exist only in code that is compiled for simulations (slipway-sim, and tests that seed bugs): meson.build
 * compiles each source with a SEEDED_BUG a second time for those. In slipway the condition is false.
 */
#ifndef BASE_SEEDED_BUG_H
#define BASE_SEEDED_BUG_H

#ifdef SLIPWAY_SEEDED_BUGS
#define SEEDED_BUG(condition) (condition)
#else
#define SEEDED_BUG(condition) (0 && (condition))
#endif

#endif
