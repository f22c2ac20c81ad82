{{- /* The seconds of a duration, for example 1h30m. */}}
{{- define "anymesh.seconds" -}}
{{- $unit := dict "h" 3600 "m" 60 "s" 1 }}
{{- $sum := 0 }}
{{- range regexFindAll "[0-9]+[hms]" . -1 }}
{{- $number := regexFind "[0-9]+" . | trimPrefix "0" | default "0" }}
{{- $sum = add $sum (mul (regexReplaceAll "^0+([0-9])" $number "${1}" | int64) (get $unit (regexFind "[hms]" .))) }}
{{- end }}
{{- $sum }}
{{- end }}

{{- /* The eight numbers of an IPv6 address, as JSON; nothing if it is none. */}}
{{- define "anymesh.ipv6Groups" -}}
{{- $halves := splitList "::" . }}
{{- $groups := list }}
{{- range $i, $half := $halves }}
{{- $own := ternary (list) (splitList ":" $half) (empty $half) }}
{{- if $i }}
{{- range until (int (sub 8 (add (len $groups) (len $own)))) }}{{ $groups = append $groups "0" }}{{ end }}
{{- end }}
{{- $groups = concat $groups $own }}
{{- end }}
{{- $valid := and (le (len $halves) 2) (eq (len $groups) 8) (lt (len (regexFindAll "[^:]+" . -1)) (ternary 8 9 (contains "::" .))) }}
{{- $numbers := list }}
{{- range $groups }}
{{- if not (regexMatch "^[0-9a-fA-F]{1,4}$" .) }}{{ $valid = false }}{{ end }}
{{- $numbers = append $numbers (printf "0x%s" . | int64) }}
{{- end }}
{{- if $valid }}{{ toJson $numbers }}{{ end }}
{{- end }}

{{- /* The problem of a range of reserved addresses; nothing if the control plane can use it. */}}
{{- define "anymesh.rangeProblem" -}}
{{- $parts := splitList "/" . }}
{{- $address := index $parts 0 }}
{{- $bits := index $parts 1 | int }}
{{- $width := 8 }}
{{- $numbers := list }}
{{- if contains ":" $address }}
{{- $width = 16 }}
{{- with include "anymesh.ipv6Groups" $address }}{{ $numbers = fromJsonArray . }}{{ end }}
{{- else }}
{{- range splitList "." $address }}{{ $numbers = append $numbers (int64 .) }}{{ end }}
{{- end }}
{{- $sum := 0 }}
{{- $masked := true }}
{{- range $i, $number := $numbers }}
{{- $sum = add $sum (int64 $number) }}
{{- $kept := max 0 (min $width (sub $bits (mul $i $width))) | int }}
{{- $size := 1 }}
{{- range until (int (sub $width $kept)) }}{{ $size = mul $size 2 }}{{ end }}
{{- if mod (int64 $number) $size }}{{ $masked = false }}{{ end }}
{{- end }}
{{- if not $numbers }}
{{- printf "%s is not an address with the length of a prefix" . }}
{{- else }}
{{- $first := index $numbers 0 | int64 }}
{{- $in4 := and (eq $width 16) (eq (index $numbers (min 5 (sub (len $numbers) 1) | int) | int64) 65535) (eq $sum (add 65535 (index $numbers (sub (len $numbers) 2 | int) | int64) (index $numbers (sub (len $numbers) 1 | int) | int64))) }}
{{- $special := not $sum }}
{{- if eq $width 16 }}
{{- $special = or $special (ge $first 65280) (eq (div $first 64) 1018) }}
{{- else }}
{{- $special = or $special (eq $first 127) (eq (div $first 16) 14) (and (eq $first 169) (eq (index $numbers 1 | int64) 254)) }}
{{- end }}
{{- if or (not $masked) $in4 }}
{{- printf "%s is not the first address of a range with its length" . }}
{{- else if $special }}
{{- printf "%s is not a range of unicast addresses" . }}
{{- end }}
{{- end }}
{{- end }}
