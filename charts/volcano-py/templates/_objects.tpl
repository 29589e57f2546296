{{/* The manifests that kustomize installs, too, with the changes that values ask for. */}}

{{/* All objects of a folder below files/ that are wanted. Argument: (dict "root" $ "folder" NAME). */}}
{{- define "volcano-py.folder" -}}
{{- $root := .root -}}
{{- range $path, $_ := $root.Files.Glob (printf "files/%s/*.yaml" .folder) -}}
{{- $text := $root.Files.Get $path | replace "volcano-system" $root.Release.Namespace -}}
{{- range splitList "\n---\n" $text -}}
{{- $object := fromYaml . -}}
{{- if include "volcano-py.wanted" (dict "root" $root "object" $object) }}
---
{{ include "volcano-py.adjusted" (dict "root" $root "object" $object) }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty when the object is to be installed. */}}
{{- define "volcano-py.wanted" -}}
{{- $kind := .object.kind -}}
{{- $own := eq $kind "Namespace" -}}
{{- $theirs := ne .object.metadata.name "volcano-py-ui" -}}
{{- $there := and .root.Values.custom.take_over $theirs (has $kind (list "ConfigMap" "ServiceAccount")) -}}
{{- $unknown := and (hasPrefix "MutatingAdmissionPolicy" $kind) (semverCompare "<1.36.0-0" .root.Capabilities.KubeVersion.Version) -}}
{{- if not (or $own $there $unknown) -}}yes{{- end -}}
{{- end -}}

{{- define "volcano-py.adjusted" -}}
{{- $values := .root.Values -}}
{{- $object := .object -}}
{{- $kind := $object.kind -}}
{{- $labels := dict "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) "app.kubernetes.io/managed-by" .root.Release.Service "app.kubernetes.io/instance" .root.Release.Name -}}
{{- if eq $kind "CustomResourceDefinition" -}}
{{- $_ := set $object.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") ($object.metadata.annotations | default dict)) -}}
{{- else -}}
{{- $labels = merge $labels (dict "app.kubernetes.io/part-of" "volcano-py") ($values.custom.common_labels | default dict) -}}
{{- end -}}
{{- $_ := set $object.metadata "labels" (merge ($object.metadata.labels | default dict) $labels) -}}
{{- if and (eq $kind "Deployment") (eq $object.metadata.name "volcano-py-ui") -}}
{{- include "volcano-py.ui" . -}}
{{- else if eq $kind "Deployment" -}}
{{- include "volcano-py.deployment" . -}}
{{- else if and (eq $kind "NetworkPolicy") (eq $object.metadata.name "volcano-py-ui") -}}
{{- with $values.ui.allow_from -}}{{- $_ := set (first $object.spec.ingress) "from" . -}}{{- end -}}
{{- else if and (eq $kind "ConfigMap") (eq $object.metadata.name "volcano-scheduler-configmap") -}}
{{- with $values.custom.scheduler_config_override -}}{{- $_ := set $object.data "volcano-scheduler.conf" . -}}{{- end -}}
{{- else if eq $kind "Service" -}}
{{- with $values.service.ipFamilyPolicy -}}{{- $_ := set $object.spec "ipFamilyPolicy" . -}}{{- end -}}
{{- with $values.service.ipFamilies -}}{{- $_ := set $object.spec "ipFamilies" . -}}{{- end -}}
{{- else if and (eq $kind "Role") (eq $object.metadata.name "volcano-py-leader-election") $values.custom.scheduler_name -}}
{{- range $object.rules -}}{{- if .resourceNames -}}{{- $_ := set . "resourceNames" (list $values.custom.scheduler_name) -}}{{- end -}}{{- end -}}
{{- else if eq $kind "PrometheusRule" -}}
{{- $_ := set $object.metadata "labels" (merge (dict) ($values.custom.monitoring_labels | default dict) $object.metadata.labels) -}}
{{- else if and (eq $kind "Role") (eq $object.metadata.name "volcano-py-ufm-credentials") -}}
{{- range $object.rules -}}{{- $_ := set . "resourceNames" (list $values.custom.ufm_credentials_secret) -}}{{- end -}}
{{- else if and (eq $kind "MutatingAdmissionPolicy") $values.custom.scheduler_name -}}
{{- range $object.spec.matchConditions -}}
{{- $_ := set . "expression" (.expression | replace "schedulerName == 'volcano'" (printf "schedulerName == '%s'" $values.custom.scheduler_name)) -}}
{{- end -}}
{{- else if hasSuffix "WebhookConfiguration" $kind -}}
{{- include "volcano-py.webhooks" . -}}
{{- end -}}
{{ toYaml $object }}
{{- end -}}

{{/* Changes the Deployment in place. */}}
{{- define "volcano-py.deployment" -}}
{{- $custom := .root.Values.custom -}}
{{- $spec := .object.spec -}}
{{- $pod := $spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- if ne nil $custom.scheduler_replicas -}}
{{- $_ := set $spec "replicas" $custom.scheduler_replicas -}}
{{- else if $custom.take_over -}}
{{- $_ := set $spec "replicas" 0 -}}
{{- end -}}
{{- include "volcano-py.image" . -}}
{{- $_ := set $container "args" (include "volcano-py.args" . | fromYamlArray) -}}
{{- if $custom.admission_enable -}}
{{- $_ := set $container "ports" (append $container.ports (dict "name" "webhooks" "containerPort" 8443 "protocol" "TCP")) -}}
{{- end -}}
{{- with $custom.scheduler_affinity | default $custom.default_affinity -}}{{- $_ := set $pod "affinity" . -}}{{- end -}}
{{- with $custom.scheduler_tolerations | default $custom.default_tolerations -}}{{- $_ := set $pod "tolerations" . -}}{{- end -}}
{{- with $custom.scheduler_ns | default $custom.default_ns -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with $custom.scheduler_sc | default $custom.default_sc -}}{{- $_ := set $pod "securityContext" . -}}{{- end -}}
{{- with $custom.scheduler_main_csc | default $custom.default_csc -}}{{- $_ := set $container "securityContext" . -}}{{- end -}}
{{- with $custom.scheduler_resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- $more := merge (dict) ($custom.scheduler_podLabels | default dict) ($custom.common_labels | default dict) -}}
{{- $_ := set $spec.template.metadata "labels" (merge $spec.template.metadata.labels $more) -}}
{{- $_ := set .object.metadata "labels" (merge .object.metadata.labels ($custom.scheduler_labels | default dict)) -}}
{{- end -}}

{{/* Sets the image of a Deployment, and how it is pulled. */}}
{{- define "volcano-py.image" -}}
{{- $basic := .root.Values.basic -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $container "image" (printf "%s%s:%s" $basic.image_registry $basic.scheduler_image_name ($basic.image_tag_version | default .root.Chart.AppVersion)) -}}
{{- $_ := set $container "imagePullPolicy" $basic.image_pull_policy -}}
{{- with $basic.image_pull_secret -}}{{- $_ := set $pod "imagePullSecrets" (list (dict "name" .)) -}}{{- end -}}
{{- end -}}

{{/* Changes the Deployment of the page in place. */}}
{{- define "volcano-py.ui" -}}
{{- $ui := .root.Values.ui -}}
{{- $custom := .root.Values.custom -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- include "volcano-py.image" . -}}
{{- if $ui.behind_tls_proxy -}}
{{- $_ := set $container "args" (append (without $container.args "--tls-cert-dir=/tls") "--behind-tls-proxy") -}}
{{- range list "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- $_ := set (index $container . "httpGet") "scheme" "HTTP" -}}
{{- end -}}
{{- $_ := unset $container "volumeMounts" -}}
{{- $_ := unset $pod "volumes" -}}
{{- else -}}
{{- $_ := set (first $pod.volumes).secret "secretName" $ui.tls_secret -}}
{{- end -}}
{{- if ne .root.Release.Namespace "volcano-system" -}}
{{- $_ := set $container "args" (append $container.args (printf "--config-namespace=%s" .root.Release.Namespace)) -}}
{{- end -}}
{{- with $custom.scheduler_name -}}
{{- $_ := set $container "args" (append $container.args (printf "--scheduler-name=%s" .)) -}}
{{- end -}}
{{- $_ := set $container "args" (concat $container.args $ui.extra_args) -}}
{{- with $ui.resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- with $custom.default_affinity -}}{{- $_ := set $pod "affinity" . -}}{{- end -}}
{{- with $custom.default_tolerations -}}{{- $_ := set $pod "tolerations" . -}}{{- end -}}
{{- with $custom.default_ns -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with $custom.default_sc -}}{{- $_ := set $pod "securityContext" . -}}{{- end -}}
{{- with $custom.default_csc -}}{{- $_ := set $container "securityContext" . -}}{{- end -}}
{{- with $custom.common_labels -}}
{{- $_ := set $.object.spec.template.metadata "labels" (merge $.object.spec.template.metadata.labels .) -}}
{{- end -}}
{{- end -}}

{{/* The flags of the daemon, as a list in YAML. Those that are the defaults of the program are left out. */}}
{{- define "volcano-py.args" -}}
{{- $custom := .root.Values.custom -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $container := first .object.spec.template.spec.containers -}}
{{- range $container.args }}
{{- if and (eq . "--leader-elect=true") (not $custom.leader_elect_enable) }}
- --leader-elect=false
{{- else }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- if $custom.admission_enable }}
- --admission
{{- end }}
{{- if not $custom.controller_enable }}
- --controllers=none
{{- else if $custom.take_over }}
- --controllers=*,-job,-cronjob,-jobflow,-hypernode
{{- end }}
{{- if ne $namespace "volcano-system" }}
- --config-namespace={{ $namespace }}
- --leader-elect-resource-namespace={{ $namespace }}
{{- if $custom.admission_enable }}
- --admission-service={{ $namespace }}/volcano-py-admission
{{- end }}
{{- end }}
{{- with $custom.scheduler_name }}
- --scheduler-name={{ . }}
{{- end }}
{{- if ne (float64 $custom.scheduler_kube_api_qps) 2000.0 }}
- --kube-api-qps={{ $custom.scheduler_kube_api_qps }}
{{- end }}
{{- if ne (int $custom.scheduler_kube_api_burst) 2000 }}
- --kube-api-burst={{ int $custom.scheduler_kube_api_burst }}
{{- end }}
{{- if ne $custom.scheduler_schedule_period "1s" }}
- --schedule-period={{ $custom.scheduler_schedule_period }}
{{- end }}
{{- if ne (int $custom.scheduler_log_level) 3 }}
- --verbosity={{ int $custom.scheduler_log_level }}
{{- end }}
{{- range $custom.scheduler_extra_args }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Changes a webhook configuration in place. */}}
{{- define "volcano-py.webhooks" -}}
{{- $more := .root.Values.custom.webhooks_namespace_selector_expressions -}}
{{- if $more -}}
{{- range .object.webhooks -}}
{{- if .namespaceSelector -}}
{{- $_ := set .namespaceSelector "matchExpressions" (concat .namespaceSelector.matchExpressions $more) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
