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

{{- /* Who may read metrics: the chart's own Prometheus, and whoever the values name. */ -}}
{{- define "lamr.scrapers" -}}
- podSelector:
    matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/component: prometheus}
{{- with .Values.networkPolicy.scrapers }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Not empty where a pool's servers come and go. */ -}}
{{- define "lamr.scales" -}}
{{- if ne (dig "kind" "none" (.autoscaling | default dict)) "none" }}yes{{ end }}
{{- end }}

{{- /* Prometheus' query for the wait for a replica of a pool: HAProxy has a backend of its own for each fingerprint. */ -}}
{{- define "lamr.backend" -}}
replicas{{ with .fingerprint }}-{{ . }}{{ end }}
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
{{- /* A server that isn't there yet has no address, which is no error. */ -}}
{{- $most := $values.replicas }}
{{- if include "lamr.scales" $values }}{{ $most = $values.autoscaling.maxReplicas }}{{ end }}
{{- range $number := until (int $most) }}
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
