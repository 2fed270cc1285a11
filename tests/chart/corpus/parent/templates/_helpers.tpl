{{ define "shared" }}from-parent-{{ .Chart.Name }}{{ end }}
{{ define "empty" }}{{ end }}
