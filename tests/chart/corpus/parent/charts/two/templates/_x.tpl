{{ define "shared" }}from-two{{ end }}
