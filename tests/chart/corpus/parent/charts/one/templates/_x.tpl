{{ define "shared" }}from-one{{ end }}
