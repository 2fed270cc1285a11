{{- define "rec" -}}{{ if gt (int .) 0 }}{{ . }},{{ include "rec" (sub . 1) }}{{ end }}{{- end -}}
{{- define "tp" }}T:{{ . }}{{ end -}}
