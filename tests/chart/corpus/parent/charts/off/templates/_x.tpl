{{ define "shared" }}from-off{{ end }}
