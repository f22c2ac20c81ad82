{{- define "anymesh.labels" -}}
app.kubernetes.io/name: anymesh
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- /* The port of the chosen driver: all replicas and sidecars agree on it. */}}
{{- define "anymesh.proxyServerPort" -}}
{{- $port := 15128 }}
{{- range .Values.osm.sidecarDrivers }}
{{- if and (eq (lower .sidecarName) (lower $.Values.osm.sidecarClass)) .proxyServerPort }}{{ $port = .proxyServerPort }}{{ end }}
{{- end }}
{{- $port }}
{{- end }}

{{- /* The settings of the dialects: for each that has some, the value of its name. */}}
{{- define "anymesh.dialectSettings" -}}
{{- $settings := dict }}
{{- range (.Files.Get "dialects.yaml" | fromYaml).dialects }}
{{- if .settings }}{{ $_ := set $settings .name (index $.Values .name) }}{{ end }}
{{- end }}
{{- $settings | mustToJson }}
{{- end }}
