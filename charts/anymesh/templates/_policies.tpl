{{- /* A ValidatingAdmissionPolicy for requests of one service account, with its binding.
       In: root, name, labels, account, rules (of resources), validations (a list with expression and message). */}}
{{- define "anymesh.policy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels: {{- .labels | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: {{- toYaml .rules | nindent 6 }}
  matchConditions:
    - name: {{ .account }}
      expression: request.userInfo.username == {{ printf "system:serviceaccount:%s:%s" .root.Release.Namespace .account | squote }}
  validations:
    {{- range .validations }}
    - expression: {{ toJson .expression }}
      message: {{ toJson .message }}
    {{- end }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- .labels | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end }}

{{- /* The policy for the objects that a service account may create in its namespace: RBAC cannot limit their names, nor the
       types of Secrets. In: root, labels, account, names (by resource; none for a resource that is not limited), rules (of
       resources besides Secrets, ConfigMaps and Leases). */}}
{{- define "anymesh.statePolicy" -}}
{{- $validations := list (dict
  "expression" "request.resource.resource != 'secrets' || object.type in ['Opaque', 'kubernetes.io/tls']"
  "message" (printf "%s may write Secrets of the types Opaque and kubernetes.io/tls only" .account)) }}
{{- range $resource, $names := .names }}
{{- $validations = append $validations (dict
  "expression" (printf "request.resource.resource != '%s' || object.metadata.namespace != '%s' || object.metadata.name in %s" $resource $.root.Release.Namespace (toJson $names))
  "message" (printf "%s may write only these %s in its namespace: %s" $.account $resource (join ", " $names))) }}
{{- end }}
{{- include "anymesh.policy" (dict "root" .root "name" (printf "%s-state" .account) "labels" .labels "account" .account
  "rules" (concat (list
    (dict "apiGroups" (list "") "apiVersions" (list "v1") "operations" (list "CREATE" "UPDATE") "resources" (list "secrets" "configmaps"))
    (dict "apiGroups" (list "coordination.k8s.io") "apiVersions" (list "*") "operations" (list "CREATE" "UPDATE") "resources" (list "leases")))
    (default (list) .rules))
  "validations" $validations) }}
{{- end }}

{{- /* The CEL expression: two maps are equal, but for the values of some keys. In: new, old (CEL expressions), except (keys). */}}
{{- define "anymesh.equalExcept" -}}
{{- $new := printf "dyn(%s)" .new }}
{{- $old := printf "dyn(%s)" .old }}
{{- $except := toJson .except | replace "\"" "'" }}
{{- printf "%s.all(k, k in %s || k in %s && %s[k] == %s[k]) && %s.all(k, k in %s || k in %s)" $new $except $old $new $old $old $except $new }}
{{- end }}

{{- /* The same for the metadata of an object that is updated. In: the keys that may change, beside those that each update changes. */}}
{{- define "anymesh.equalMetadata" -}}
{{- include "anymesh.equalExcept" (dict "new" "object.metadata" "old" "oldObject.metadata" "except" (concat . (list "generation" "managedFields" "resourceVersion"))) }}
{{- end }}
