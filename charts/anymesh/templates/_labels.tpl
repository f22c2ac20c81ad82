{{- define "anymesh.labels" -}}
app.kubernetes.io/name: anymesh
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "anymesh.aggregatorLabels" -}}
app.kubernetes.io/name: anymesh-aggregator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- /* The port of the default driver: all replicas and sidecars agree on it. */}}
{{- define "anymesh.proxyServerPort" -}}
{{- $port := 15128 }}
{{- range .Values.osm.sidecarDrivers }}
{{- if and (eq (lower .sidecarName) (lower $.Values.osm.sidecarClass)) .proxyServerPort }}{{ $port = .proxyServerPort }}{{ end }}
{{- end }}
{{- $port }}
{{- end }}
{{- /* The ports of all drivers, as JSON: [{"class": "x", "name": "xds", "port": 15128}, {"class": "y", "name": "xds-y", "port": 15129}]. */}}
{{- define "anymesh.proxyServerPorts" -}}
{{- $class := lower .Values.osm.sidecarClass }}
{{- $ports := list (dict "class" $class "name" "xds" "port" (include "anymesh.proxyServerPort" . | int)) }}
{{- $classes := dict $class true }}
{{- range .Values.osm.sidecarDrivers }}
{{- $name := lower .sidecarName }}
{{- if not (hasKey $classes $name) }}
{{- $_ := set $classes $name true }}
{{- $ports = append $ports (dict "class" $name "name" (printf "xds-%s" $name) "port" (default 15128 .proxyServerPort | int)) }}
{{- end }}
{{- end }}
{{- toJson $ports }}
{{- end }}

{{- /* The settings of the dialects: for each that has some, the value of its name. */}}
{{- define "anymesh.dialectSettings" -}}
{{- $settings := dict }}
{{- range (.Files.Get "dialects.yaml" | fromYaml).dialects }}
{{- if .settings }}{{ $_ := set $settings .name (index $.Values .name) }}{{ end }}
{{- end }}
{{- $settings | mustToJson }}
{{- end }}
