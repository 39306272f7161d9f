{{- define "lamr.labels" -}}
app.kubernetes.io/name: lamr
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "lamr.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* tenants.toml: [front] and [replicas] follow from the values, tenants are given. */ -}}
{{- define "lamr.tenants" -}}
[front]
listen = "0.0.0.0:{{ .Values.front.port }}"
certificate = "/etc/lamr/tls/server.pem"
operations = "0.0.0.0:8405"
follow_dns = true
{{ .Values.front.settings }}
{{- range $pool, $values := .Values.pools }}
{{- range $number := until (int $values.replicas) }}
[replicas.{{ $pool }}-{{ $number }}]
grpc = "{{ $.Release.Name }}-{{ $pool }}-{{ $number }}.{{ $.Release.Name }}-{{ $pool }}.{{ $.Release.Namespace }}.svc.{{ $.Values.clusterDomain }}:8001"
capacity = {{ $values.capacity }}
{{- if $values.fingerprint }}
fingerprint = "{{ $values.fingerprint }}"
{{- end }}
{{- end }}
{{- end }}
{{ .Values.front.tenants }}
{{- end }}
