{{- /* What values may say about the nodes of pods. In: root, values (of the Deployment), selector (its labels). */}}
{{- define "anymesh.scheduling" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ toJson . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- $selector := .selector }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
  - {{ merge (dict) . (dict "labelSelector" (dict "matchLabels" $selector)) | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The spec of a PodDisruptionBudget, with the same arguments. */}}
{{- define "anymesh.budget" -}}
{{- with .values.podDisruptionBudget }}
{{- if eq (toString .minAvailable) "" }}
maxUnavailable: {{ .maxUnavailable }}
{{- else }}
minAvailable: {{ .minAvailable }}
{{- end }}
{{- end }}
selector:
  matchLabels: {{ toJson .selector }}
{{- end }}

{{- /* The image of the default sidecar driver. */}}
{{- define "anymesh.sidecarImage" -}}
{{- $image := .Values.osm.sidecarImage }}
{{- range .Values.osm.sidecarDrivers }}
{{- if eq (lower .sidecarName) (lower $.Values.osm.sidecarClass) }}{{ $image = default .sidecarImage $image }}{{ end }}
{{- end }}
{{- $image }}
{{- end }}
