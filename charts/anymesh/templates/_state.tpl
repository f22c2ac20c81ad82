{{- /* An object that the control plane fills: a Secret of an authority, for example. It has no data here, so that upgrades keep what the
       cluster has, and no type: a Secret may have another one. An object that is not of this release stays as it is. It stays when the
       release is removed, too. In: root, apiVersion, kind, name, app (the name of the program). */}}
{{- define "anymesh.state" -}}
{{- $found := lookup .apiVersion .kind .root.Release.Namespace .name }}
{{- if or (not $found) (eq .root.Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found)) }}
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .app }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  annotations:
    helm.sh/resource-policy: keep
    anymesh.dev/if-exists: keep
{{- end }}
{{- end }}
