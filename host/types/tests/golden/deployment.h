/* Types of apps/v1 Deployment. Made by `oarlock types`; changes are lost.
 *
 * A pointer that is NULL, and an enum that is 0, is absent. A field with NAME_is_null may also be null.
 * deployment_v1_parse reads an object, and deployment_v1_write makes one. */
#ifndef DEPLOYMENT_V1_H
#define DEPLOYMENT_V1_H

#include <oarlock/json.h>
#include <string.h>

#define DEPLOYMENT_V1_API_VERSION "apps/v1"
#define DEPLOYMENT_V1_KIND "Deployment"

typedef struct deployment_v1 deployment_v1;
typedef struct deployment_v1_spec deployment_v1_spec;
typedef struct deployment_v1_label_selector deployment_v1_label_selector;
typedef struct deployment_v1_label_selector_requirement deployment_v1_label_selector_requirement;
typedef struct deployment_v1_strategy deployment_v1_strategy;
typedef struct deployment_v1_rolling_update_deployment deployment_v1_rolling_update_deployment;
typedef struct deployment_v1_pod_template_spec deployment_v1_pod_template_spec;
typedef struct deployment_v1_object_meta deployment_v1_object_meta;
typedef struct deployment_v1_managed_fields_entry deployment_v1_managed_fields_entry;
typedef struct deployment_v1_owner_reference deployment_v1_owner_reference;
typedef struct deployment_v1_pod_spec deployment_v1_pod_spec;
typedef struct deployment_v1_affinity deployment_v1_affinity;
typedef struct deployment_v1_node_affinity deployment_v1_node_affinity;
typedef struct deployment_v1_preferred_scheduling_term deployment_v1_preferred_scheduling_term;
typedef struct deployment_v1_node_selector_term deployment_v1_node_selector_term;
typedef struct deployment_v1_node_selector_requirement deployment_v1_node_selector_requirement;
typedef struct deployment_v1_node_selector deployment_v1_node_selector;
typedef struct deployment_v1_pod_affinity deployment_v1_pod_affinity;
typedef struct deployment_v1_weighted_pod_affinity_term deployment_v1_weighted_pod_affinity_term;
typedef struct deployment_v1_pod_affinity_term deployment_v1_pod_affinity_term;
typedef struct deployment_v1_pod_anti_affinity deployment_v1_pod_anti_affinity;
typedef struct deployment_v1_container deployment_v1_container;
typedef struct deployment_v1_env_var deployment_v1_env_var;
typedef struct deployment_v1_env_var_source deployment_v1_env_var_source;
typedef struct deployment_v1_config_map_key_selector deployment_v1_config_map_key_selector;
typedef struct deployment_v1_object_field_selector deployment_v1_object_field_selector;
typedef struct deployment_v1_file_key_selector deployment_v1_file_key_selector;
typedef struct deployment_v1_resource_field_selector deployment_v1_resource_field_selector;
typedef struct deployment_v1_secret_key_selector deployment_v1_secret_key_selector;
typedef struct deployment_v1_env_from_source deployment_v1_env_from_source;
typedef struct deployment_v1_config_map_env_source deployment_v1_config_map_env_source;
typedef struct deployment_v1_secret_env_source deployment_v1_secret_env_source;
typedef struct deployment_v1_lifecycle deployment_v1_lifecycle;
typedef struct deployment_v1_lifecycle_handler deployment_v1_lifecycle_handler;
typedef struct deployment_v1_exec_action deployment_v1_exec_action;
typedef struct deployment_v1_http_get_action deployment_v1_http_get_action;
typedef struct deployment_v1_http_header deployment_v1_http_header;
typedef struct deployment_v1_sleep_action deployment_v1_sleep_action;
typedef struct deployment_v1_tcp_socket_action deployment_v1_tcp_socket_action;
typedef struct deployment_v1_probe deployment_v1_probe;
typedef struct deployment_v1_grpc_action deployment_v1_grpc_action;
typedef struct deployment_v1_container_port deployment_v1_container_port;
typedef struct deployment_v1_container_resize_policy deployment_v1_container_resize_policy;
typedef struct deployment_v1_resource_requirements deployment_v1_resource_requirements;
typedef struct deployment_v1_resource_claim deployment_v1_resource_claim;
typedef struct deployment_v1_container_restart_rule deployment_v1_container_restart_rule;
typedef struct deployment_v1_container_restart_rule_on_exit_codes deployment_v1_container_restart_rule_on_exit_codes;
typedef struct deployment_v1_security_context deployment_v1_security_context;
typedef struct deployment_v1_app_armor_profile deployment_v1_app_armor_profile;
typedef struct deployment_v1_capabilities deployment_v1_capabilities;
typedef struct deployment_v1_se_linux_options deployment_v1_se_linux_options;
typedef struct deployment_v1_seccomp_profile deployment_v1_seccomp_profile;
typedef struct deployment_v1_windows_security_context_options deployment_v1_windows_security_context_options;
typedef struct deployment_v1_volume_device deployment_v1_volume_device;
typedef struct deployment_v1_volume_mount deployment_v1_volume_mount;
typedef struct deployment_v1_pod_dns_config deployment_v1_pod_dns_config;
typedef struct deployment_v1_pod_dns_config_option deployment_v1_pod_dns_config_option;
typedef struct deployment_v1_ephemeral_container deployment_v1_ephemeral_container;
typedef struct deployment_v1_host_alias deployment_v1_host_alias;
typedef struct deployment_v1_local_object_reference deployment_v1_local_object_reference;
typedef struct deployment_v1_pod_os deployment_v1_pod_os;
typedef struct deployment_v1_pod_readiness_gate deployment_v1_pod_readiness_gate;
typedef struct deployment_v1_pod_resource_claim deployment_v1_pod_resource_claim;
typedef struct deployment_v1_pod_scheduling_gate deployment_v1_pod_scheduling_gate;
typedef struct deployment_v1_pod_scheduling_group deployment_v1_pod_scheduling_group;
typedef struct deployment_v1_pod_security_context deployment_v1_pod_security_context;
typedef struct deployment_v1_sysctl deployment_v1_sysctl;
typedef struct deployment_v1_toleration deployment_v1_toleration;
typedef struct deployment_v1_topology_spread_constraint deployment_v1_topology_spread_constraint;
typedef struct deployment_v1_volume deployment_v1_volume;
typedef struct deployment_v1_aws_elastic_block_store_volume_source deployment_v1_aws_elastic_block_store_volume_source;
typedef struct deployment_v1_azure_disk_volume_source deployment_v1_azure_disk_volume_source;
typedef struct deployment_v1_azure_file_volume_source deployment_v1_azure_file_volume_source;
typedef struct deployment_v1_ceph_fs_volume_source deployment_v1_ceph_fs_volume_source;
typedef struct deployment_v1_cinder_volume_source deployment_v1_cinder_volume_source;
typedef struct deployment_v1_config_map_volume_source deployment_v1_config_map_volume_source;
typedef struct deployment_v1_key_to_path deployment_v1_key_to_path;
typedef struct deployment_v1_csi_volume_source deployment_v1_csi_volume_source;
typedef struct deployment_v1_downward_api_volume_source deployment_v1_downward_api_volume_source;
typedef struct deployment_v1_downward_api_volume_file deployment_v1_downward_api_volume_file;
typedef struct deployment_v1_empty_dir_volume_source deployment_v1_empty_dir_volume_source;
typedef struct deployment_v1_ephemeral_volume_source deployment_v1_ephemeral_volume_source;
typedef struct deployment_v1_persistent_volume_claim_template deployment_v1_persistent_volume_claim_template;
typedef struct deployment_v1_persistent_volume_claim_spec deployment_v1_persistent_volume_claim_spec;
typedef struct deployment_v1_typed_local_object_reference deployment_v1_typed_local_object_reference;
typedef struct deployment_v1_typed_object_reference deployment_v1_typed_object_reference;
typedef struct deployment_v1_volume_resource_requirements deployment_v1_volume_resource_requirements;
typedef struct deployment_v1_fc_volume_source deployment_v1_fc_volume_source;
typedef struct deployment_v1_flex_volume_source deployment_v1_flex_volume_source;
typedef struct deployment_v1_flocker_volume_source deployment_v1_flocker_volume_source;
typedef struct deployment_v1_gce_persistent_disk_volume_source deployment_v1_gce_persistent_disk_volume_source;
typedef struct deployment_v1_git_repo_volume_source deployment_v1_git_repo_volume_source;
typedef struct deployment_v1_glusterfs_volume_source deployment_v1_glusterfs_volume_source;
typedef struct deployment_v1_host_path_volume_source deployment_v1_host_path_volume_source;
typedef struct deployment_v1_image_volume_source deployment_v1_image_volume_source;
typedef struct deployment_v1_iscsi_volume_source deployment_v1_iscsi_volume_source;
typedef struct deployment_v1_nfs_volume_source deployment_v1_nfs_volume_source;
typedef struct deployment_v1_persistent_volume_claim_volume_source deployment_v1_persistent_volume_claim_volume_source;
typedef struct deployment_v1_photon_persistent_disk_volume_source deployment_v1_photon_persistent_disk_volume_source;
typedef struct deployment_v1_portworx_volume_source deployment_v1_portworx_volume_source;
typedef struct deployment_v1_projected_volume_source deployment_v1_projected_volume_source;
typedef struct deployment_v1_volume_projection deployment_v1_volume_projection;
typedef struct deployment_v1_cluster_trust_bundle_projection deployment_v1_cluster_trust_bundle_projection;
typedef struct deployment_v1_config_map_projection deployment_v1_config_map_projection;
typedef struct deployment_v1_downward_api_projection deployment_v1_downward_api_projection;
typedef struct deployment_v1_pod_certificate_projection deployment_v1_pod_certificate_projection;
typedef struct deployment_v1_secret_projection deployment_v1_secret_projection;
typedef struct deployment_v1_service_account_token_projection deployment_v1_service_account_token_projection;
typedef struct deployment_v1_quobyte_volume_source deployment_v1_quobyte_volume_source;
typedef struct deployment_v1_rbd_volume_source deployment_v1_rbd_volume_source;
typedef struct deployment_v1_scale_io_volume_source deployment_v1_scale_io_volume_source;
typedef struct deployment_v1_secret_volume_source deployment_v1_secret_volume_source;
typedef struct deployment_v1_storage_os_volume_source deployment_v1_storage_os_volume_source;
typedef struct deployment_v1_vsphere_virtual_disk_volume_source deployment_v1_vsphere_virtual_disk_volume_source;
typedef struct deployment_v1_status deployment_v1_status;
typedef struct deployment_v1_condition deployment_v1_condition;
typedef struct deployment_v1_object_meta2 deployment_v1_object_meta2;
typedef struct deployment_v1_object_meta_owner_references deployment_v1_object_meta_owner_references;
typedef struct deployment_v1_label_selector_requirement_list deployment_v1_label_selector_requirement_list;
typedef struct deployment_v1_string_map deployment_v1_string_map;
typedef struct deployment_v1_string_map_entry deployment_v1_string_map_entry;
typedef struct deployment_v1_string_list deployment_v1_string_list;
typedef struct deployment_v1_managed_fields_entry_list deployment_v1_managed_fields_entry_list;
typedef struct deployment_v1_owner_reference_list deployment_v1_owner_reference_list;
typedef struct deployment_v1_value_map deployment_v1_value_map;
typedef struct deployment_v1_value_map_entry deployment_v1_value_map_entry;
typedef struct deployment_v1_container_list deployment_v1_container_list;
typedef struct deployment_v1_ephemeral_container_list deployment_v1_ephemeral_container_list;
typedef struct deployment_v1_host_alias_list deployment_v1_host_alias_list;
typedef struct deployment_v1_local_object_reference_list deployment_v1_local_object_reference_list;
typedef struct deployment_v1_int_or_string_map deployment_v1_int_or_string_map;
typedef struct deployment_v1_int_or_string_map_entry deployment_v1_int_or_string_map_entry;
typedef struct deployment_v1_pod_readiness_gate_list deployment_v1_pod_readiness_gate_list;
typedef struct deployment_v1_pod_resource_claim_list deployment_v1_pod_resource_claim_list;
typedef struct deployment_v1_pod_scheduling_gate_list deployment_v1_pod_scheduling_gate_list;
typedef struct deployment_v1_toleration_list deployment_v1_toleration_list;
typedef struct deployment_v1_topology_spread_constraint_list deployment_v1_topology_spread_constraint_list;
typedef struct deployment_v1_volume_list deployment_v1_volume_list;
typedef struct deployment_v1_preferred_scheduling_term_list deployment_v1_preferred_scheduling_term_list;
typedef struct deployment_v1_node_selector_requirement_list deployment_v1_node_selector_requirement_list;
typedef struct deployment_v1_node_selector_term_list deployment_v1_node_selector_term_list;
typedef struct deployment_v1_weighted_pod_affinity_term_list deployment_v1_weighted_pod_affinity_term_list;
typedef struct deployment_v1_pod_affinity_term_list deployment_v1_pod_affinity_term_list;
typedef struct deployment_v1_env_var_list deployment_v1_env_var_list;
typedef struct deployment_v1_env_from_source_list deployment_v1_env_from_source_list;
typedef struct deployment_v1_container_port_list deployment_v1_container_port_list;
typedef struct deployment_v1_container_resize_policy_list deployment_v1_container_resize_policy_list;
typedef struct deployment_v1_container_restart_rule_list deployment_v1_container_restart_rule_list;
typedef struct deployment_v1_volume_device_list deployment_v1_volume_device_list;
typedef struct deployment_v1_volume_mount_list deployment_v1_volume_mount_list;
typedef struct deployment_v1_http_header_list deployment_v1_http_header_list;
typedef struct deployment_v1_resource_claim_list deployment_v1_resource_claim_list;
typedef struct deployment_v1_int32_list deployment_v1_int32_list;
typedef struct deployment_v1_pod_dns_config_option_list deployment_v1_pod_dns_config_option_list;
typedef struct deployment_v1_int64_list deployment_v1_int64_list;
typedef struct deployment_v1_sysctl_list deployment_v1_sysctl_list;
typedef struct deployment_v1_key_to_path_list deployment_v1_key_to_path_list;
typedef struct deployment_v1_downward_api_volume_file_list deployment_v1_downward_api_volume_file_list;
typedef struct deployment_v1_persistent_volume_claim_spec_access_modes_list deployment_v1_persistent_volume_claim_spec_access_modes_list;
typedef struct deployment_v1_volume_projection_list deployment_v1_volume_projection_list;
typedef struct deployment_v1_condition_list deployment_v1_condition_list;
typedef struct deployment_v1_object_meta_owner_references_list deployment_v1_object_meta_owner_references_list;

/* An integer, or a string where `text` is not NULL. */
typedef struct {
    int64_t number;
    const char *text;
} deployment_v1_int_or_string;

typedef enum {
    DEPLOYMENT_V1_STRATEGY_TYPE_ABSENT = 0,
    DEPLOYMENT_V1_STRATEGY_TYPE_RECREATE, /* "Recreate" */
    DEPLOYMENT_V1_STRATEGY_TYPE_ROLLING_UPDATE, /* "RollingUpdate" */
} deployment_v1_strategy_type;

typedef enum {
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_ABSENT = 0,
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_DOES_NOT_EXIST, /* "DoesNotExist" */
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_EXISTS, /* "Exists" */
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_GT, /* "Gt" */
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_IN, /* "In" */
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_LT, /* "Lt" */
    DEPLOYMENT_V1_NODE_SELECTOR_REQUIREMENT_OPERATOR_NOT_IN, /* "NotIn" */
} deployment_v1_node_selector_requirement_operator;

typedef enum {
    DEPLOYMENT_V1_CONTAINER_IMAGE_PULL_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_CONTAINER_IMAGE_PULL_POLICY_ALWAYS, /* "Always" */
    DEPLOYMENT_V1_CONTAINER_IMAGE_PULL_POLICY_IF_NOT_PRESENT, /* "IfNotPresent" */
    DEPLOYMENT_V1_CONTAINER_IMAGE_PULL_POLICY_NEVER, /* "Never" */
} deployment_v1_container_image_pull_policy;

typedef enum {
    DEPLOYMENT_V1_HTTP_GET_ACTION_SCHEME_ABSENT = 0,
    DEPLOYMENT_V1_HTTP_GET_ACTION_SCHEME_HTTP, /* "HTTP" */
    DEPLOYMENT_V1_HTTP_GET_ACTION_SCHEME_HTTPS, /* "HTTPS" */
} deployment_v1_http_get_action_scheme;

typedef enum {
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_ABSENT = 0,
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGABRT, /* "SIGABRT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGALRM, /* "SIGALRM" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGBUS, /* "SIGBUS" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGCHLD, /* "SIGCHLD" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGCLD, /* "SIGCLD" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGCONT, /* "SIGCONT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGFPE, /* "SIGFPE" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGHUP, /* "SIGHUP" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGILL, /* "SIGILL" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGINT, /* "SIGINT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGIO, /* "SIGIO" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGIOT, /* "SIGIOT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGKILL, /* "SIGKILL" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGPIPE, /* "SIGPIPE" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGPOLL, /* "SIGPOLL" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGPROF, /* "SIGPROF" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGPWR, /* "SIGPWR" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGQUIT, /* "SIGQUIT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX, /* "SIGRTMAX" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_1, /* "SIGRTMAX-1" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_10, /* "SIGRTMAX-10" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_11, /* "SIGRTMAX-11" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_12, /* "SIGRTMAX-12" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_13, /* "SIGRTMAX-13" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_14, /* "SIGRTMAX-14" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_2, /* "SIGRTMAX-2" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_3, /* "SIGRTMAX-3" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_4, /* "SIGRTMAX-4" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_5, /* "SIGRTMAX-5" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_6, /* "SIGRTMAX-6" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_7, /* "SIGRTMAX-7" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_8, /* "SIGRTMAX-8" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMAX_9, /* "SIGRTMAX-9" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN, /* "SIGRTMIN" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_1, /* "SIGRTMIN+1" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_10, /* "SIGRTMIN+10" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_11, /* "SIGRTMIN+11" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_12, /* "SIGRTMIN+12" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_13, /* "SIGRTMIN+13" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_14, /* "SIGRTMIN+14" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_15, /* "SIGRTMIN+15" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_2, /* "SIGRTMIN+2" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_3, /* "SIGRTMIN+3" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_4, /* "SIGRTMIN+4" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_5, /* "SIGRTMIN+5" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_6, /* "SIGRTMIN+6" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_7, /* "SIGRTMIN+7" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_8, /* "SIGRTMIN+8" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGRTMIN_9, /* "SIGRTMIN+9" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGSEGV, /* "SIGSEGV" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGSTKFLT, /* "SIGSTKFLT" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGSTOP, /* "SIGSTOP" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGSYS, /* "SIGSYS" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGTERM, /* "SIGTERM" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGTRAP, /* "SIGTRAP" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGTSTP, /* "SIGTSTP" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGTTIN, /* "SIGTTIN" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGTTOU, /* "SIGTTOU" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGURG, /* "SIGURG" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGUSR1, /* "SIGUSR1" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGUSR2, /* "SIGUSR2" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGVTALRM, /* "SIGVTALRM" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGWINCH, /* "SIGWINCH" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGXCPU, /* "SIGXCPU" */
    DEPLOYMENT_V1_LIFECYCLE_STOP_SIGNAL_SIGXFSZ, /* "SIGXFSZ" */
} deployment_v1_lifecycle_stop_signal;

typedef enum {
    DEPLOYMENT_V1_CONTAINER_PORT_PROTOCOL_ABSENT = 0,
    DEPLOYMENT_V1_CONTAINER_PORT_PROTOCOL_SCTP, /* "SCTP" */
    DEPLOYMENT_V1_CONTAINER_PORT_PROTOCOL_TCP, /* "TCP" */
    DEPLOYMENT_V1_CONTAINER_PORT_PROTOCOL_UDP, /* "UDP" */
} deployment_v1_container_port_protocol;

typedef enum {
    DEPLOYMENT_V1_APP_ARMOR_PROFILE_TYPE_ABSENT = 0,
    DEPLOYMENT_V1_APP_ARMOR_PROFILE_TYPE_LOCALHOST, /* "Localhost" */
    DEPLOYMENT_V1_APP_ARMOR_PROFILE_TYPE_RUNTIME_DEFAULT, /* "RuntimeDefault" */
    DEPLOYMENT_V1_APP_ARMOR_PROFILE_TYPE_UNCONFINED, /* "Unconfined" */
} deployment_v1_app_armor_profile_type;

typedef enum {
    DEPLOYMENT_V1_SECURITY_CONTEXT_PROC_MOUNT_ABSENT = 0,
    DEPLOYMENT_V1_SECURITY_CONTEXT_PROC_MOUNT_DEFAULT, /* "Default" */
    DEPLOYMENT_V1_SECURITY_CONTEXT_PROC_MOUNT_UNMASKED, /* "Unmasked" */
} deployment_v1_security_context_proc_mount;

typedef enum {
    DEPLOYMENT_V1_SECCOMP_PROFILE_TYPE_ABSENT = 0,
    DEPLOYMENT_V1_SECCOMP_PROFILE_TYPE_LOCALHOST, /* "Localhost" */
    DEPLOYMENT_V1_SECCOMP_PROFILE_TYPE_RUNTIME_DEFAULT, /* "RuntimeDefault" */
    DEPLOYMENT_V1_SECCOMP_PROFILE_TYPE_UNCONFINED, /* "Unconfined" */
} deployment_v1_seccomp_profile_type;

typedef enum {
    DEPLOYMENT_V1_CONTAINER_TERMINATION_MESSAGE_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_CONTAINER_TERMINATION_MESSAGE_POLICY_FALLBACK_TO_LOGS_ON_ERROR, /* "FallbackToLogsOnError" */
    DEPLOYMENT_V1_CONTAINER_TERMINATION_MESSAGE_POLICY_FILE, /* "File" */
} deployment_v1_container_termination_message_policy;

typedef enum {
    DEPLOYMENT_V1_VOLUME_MOUNT_MOUNT_PROPAGATION_ABSENT = 0,
    DEPLOYMENT_V1_VOLUME_MOUNT_MOUNT_PROPAGATION_BIDIRECTIONAL, /* "Bidirectional" */
    DEPLOYMENT_V1_VOLUME_MOUNT_MOUNT_PROPAGATION_HOST_TO_CONTAINER, /* "HostToContainer" */
    DEPLOYMENT_V1_VOLUME_MOUNT_MOUNT_PROPAGATION_NONE, /* "None" */
} deployment_v1_volume_mount_mount_propagation;

typedef enum {
    DEPLOYMENT_V1_POD_SPEC_DNS_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_POD_SPEC_DNS_POLICY_CLUSTER_FIRST, /* "ClusterFirst" */
    DEPLOYMENT_V1_POD_SPEC_DNS_POLICY_CLUSTER_FIRST_WITH_HOST_NET, /* "ClusterFirstWithHostNet" */
    DEPLOYMENT_V1_POD_SPEC_DNS_POLICY_DEFAULT, /* "Default" */
    DEPLOYMENT_V1_POD_SPEC_DNS_POLICY_NONE, /* "None" */
} deployment_v1_pod_spec_dns_policy;

typedef enum {
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_IMAGE_PULL_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_IMAGE_PULL_POLICY_ALWAYS, /* "Always" */
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_IMAGE_PULL_POLICY_IF_NOT_PRESENT, /* "IfNotPresent" */
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_IMAGE_PULL_POLICY_NEVER, /* "Never" */
} deployment_v1_ephemeral_container_image_pull_policy;

typedef enum {
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_TERMINATION_MESSAGE_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_TERMINATION_MESSAGE_POLICY_FALLBACK_TO_LOGS_ON_ERROR, /* "FallbackToLogsOnError" */
    DEPLOYMENT_V1_EPHEMERAL_CONTAINER_TERMINATION_MESSAGE_POLICY_FILE, /* "File" */
} deployment_v1_ephemeral_container_termination_message_policy;

typedef enum {
    DEPLOYMENT_V1_POD_SPEC_PREEMPTION_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_POD_SPEC_PREEMPTION_POLICY_NEVER, /* "Never" */
    DEPLOYMENT_V1_POD_SPEC_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY, /* "PreemptLowerPriority" */
} deployment_v1_pod_spec_preemption_policy;

typedef enum {
    DEPLOYMENT_V1_POD_SPEC_RESTART_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_POD_SPEC_RESTART_POLICY_ALWAYS, /* "Always" */
    DEPLOYMENT_V1_POD_SPEC_RESTART_POLICY_NEVER, /* "Never" */
    DEPLOYMENT_V1_POD_SPEC_RESTART_POLICY_ON_FAILURE, /* "OnFailure" */
} deployment_v1_pod_spec_restart_policy;

typedef enum {
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_FS_GROUP_CHANGE_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_FS_GROUP_CHANGE_POLICY_ALWAYS, /* "Always" */
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_FS_GROUP_CHANGE_POLICY_ON_ROOT_MISMATCH, /* "OnRootMismatch" */
} deployment_v1_pod_security_context_fs_group_change_policy;

typedef enum {
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_SUPPLEMENTAL_GROUPS_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_SUPPLEMENTAL_GROUPS_POLICY_MERGE, /* "Merge" */
    DEPLOYMENT_V1_POD_SECURITY_CONTEXT_SUPPLEMENTAL_GROUPS_POLICY_STRICT, /* "Strict" */
} deployment_v1_pod_security_context_supplemental_groups_policy;

typedef enum {
    DEPLOYMENT_V1_TOLERATION_EFFECT_ABSENT = 0,
    DEPLOYMENT_V1_TOLERATION_EFFECT_NO_EXECUTE, /* "NoExecute" */
    DEPLOYMENT_V1_TOLERATION_EFFECT_NO_SCHEDULE, /* "NoSchedule" */
    DEPLOYMENT_V1_TOLERATION_EFFECT_PREFER_NO_SCHEDULE, /* "PreferNoSchedule" */
} deployment_v1_toleration_effect;

typedef enum {
    DEPLOYMENT_V1_TOLERATION_OPERATOR_ABSENT = 0,
    DEPLOYMENT_V1_TOLERATION_OPERATOR_EQUAL, /* "Equal" */
    DEPLOYMENT_V1_TOLERATION_OPERATOR_EXISTS, /* "Exists" */
    DEPLOYMENT_V1_TOLERATION_OPERATOR_GT, /* "Gt" */
    DEPLOYMENT_V1_TOLERATION_OPERATOR_LT, /* "Lt" */
} deployment_v1_toleration_operator;

typedef enum {
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_AFFINITY_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_AFFINITY_POLICY_HONOR, /* "Honor" */
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_AFFINITY_POLICY_IGNORE, /* "Ignore" */
} deployment_v1_topology_spread_constraint_node_affinity_policy;

typedef enum {
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_TAINTS_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_TAINTS_POLICY_HONOR, /* "Honor" */
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_NODE_TAINTS_POLICY_IGNORE, /* "Ignore" */
} deployment_v1_topology_spread_constraint_node_taints_policy;

typedef enum {
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_WHEN_UNSATISFIABLE_ABSENT = 0,
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_WHEN_UNSATISFIABLE_DO_NOT_SCHEDULE, /* "DoNotSchedule" */
    DEPLOYMENT_V1_TOPOLOGY_SPREAD_CONSTRAINT_WHEN_UNSATISFIABLE_SCHEDULE_ANYWAY, /* "ScheduleAnyway" */
} deployment_v1_topology_spread_constraint_when_unsatisfiable;

typedef enum {
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_CACHING_MODE_ABSENT = 0,
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_CACHING_MODE_NONE, /* "None" */
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_CACHING_MODE_READ_ONLY, /* "ReadOnly" */
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_CACHING_MODE_READ_WRITE, /* "ReadWrite" */
} deployment_v1_azure_disk_volume_source_caching_mode;

typedef enum {
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_KIND_ABSENT = 0,
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_KIND_DEDICATED, /* "Dedicated" */
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_KIND_MANAGED, /* "Managed" */
    DEPLOYMENT_V1_AZURE_DISK_VOLUME_SOURCE_KIND_SHARED, /* "Shared" */
} deployment_v1_azure_disk_volume_source_kind;

typedef enum {
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_ACCESS_MODES_ABSENT = 0,
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_ACCESS_MODES_READ_ONLY_MANY, /* "ReadOnlyMany" */
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_ACCESS_MODES_READ_WRITE_MANY, /* "ReadWriteMany" */
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_ACCESS_MODES_READ_WRITE_ONCE, /* "ReadWriteOnce" */
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_ACCESS_MODES_READ_WRITE_ONCE_POD, /* "ReadWriteOncePod" */
} deployment_v1_persistent_volume_claim_spec_access_modes;

typedef enum {
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_VOLUME_MODE_ABSENT = 0,
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_VOLUME_MODE_BLOCK, /* "Block" */
    DEPLOYMENT_V1_PERSISTENT_VOLUME_CLAIM_SPEC_VOLUME_MODE_FILESYSTEM, /* "Filesystem" */
} deployment_v1_persistent_volume_claim_spec_volume_mode;

typedef enum {
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_ABSENT = 0,
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_EMPTY, /* "" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_BLOCK_DEVICE, /* "BlockDevice" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_CHAR_DEVICE, /* "CharDevice" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_DIRECTORY, /* "Directory" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_DIRECTORY_OR_CREATE, /* "DirectoryOrCreate" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_FILE, /* "File" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_FILE_OR_CREATE, /* "FileOrCreate" */
    DEPLOYMENT_V1_HOST_PATH_VOLUME_SOURCE_TYPE_SOCKET, /* "Socket" */
} deployment_v1_host_path_volume_source_type;

typedef enum {
    DEPLOYMENT_V1_IMAGE_VOLUME_SOURCE_PULL_POLICY_ABSENT = 0,
    DEPLOYMENT_V1_IMAGE_VOLUME_SOURCE_PULL_POLICY_ALWAYS, /* "Always" */
    DEPLOYMENT_V1_IMAGE_VOLUME_SOURCE_PULL_POLICY_IF_NOT_PRESENT, /* "IfNotPresent" */
    DEPLOYMENT_V1_IMAGE_VOLUME_SOURCE_PULL_POLICY_NEVER, /* "Never" */
} deployment_v1_image_volume_source_pull_policy;

/* `items` of NULL: absent. */
struct deployment_v1_label_selector_requirement_list {
    deployment_v1_label_selector_requirement *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_string_map {
    deployment_v1_string_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_string_list {
    const char **items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_managed_fields_entry_list {
    deployment_v1_managed_fields_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_owner_reference_list {
    deployment_v1_owner_reference *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_value_map {
    deployment_v1_value_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_container_list {
    deployment_v1_container *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_ephemeral_container_list {
    deployment_v1_ephemeral_container *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_host_alias_list {
    deployment_v1_host_alias *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_local_object_reference_list {
    deployment_v1_local_object_reference *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_int_or_string_map {
    deployment_v1_int_or_string_map_entry *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_pod_readiness_gate_list {
    deployment_v1_pod_readiness_gate *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_pod_resource_claim_list {
    deployment_v1_pod_resource_claim *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_pod_scheduling_gate_list {
    deployment_v1_pod_scheduling_gate *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_toleration_list {
    deployment_v1_toleration *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_topology_spread_constraint_list {
    deployment_v1_topology_spread_constraint *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_volume_list {
    deployment_v1_volume *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_preferred_scheduling_term_list {
    deployment_v1_preferred_scheduling_term *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_node_selector_requirement_list {
    deployment_v1_node_selector_requirement *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_node_selector_term_list {
    deployment_v1_node_selector_term *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_weighted_pod_affinity_term_list {
    deployment_v1_weighted_pod_affinity_term *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_pod_affinity_term_list {
    deployment_v1_pod_affinity_term *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_env_var_list {
    deployment_v1_env_var *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_env_from_source_list {
    deployment_v1_env_from_source *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_container_port_list {
    deployment_v1_container_port *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_container_resize_policy_list {
    deployment_v1_container_resize_policy *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_container_restart_rule_list {
    deployment_v1_container_restart_rule *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_volume_device_list {
    deployment_v1_volume_device *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_volume_mount_list {
    deployment_v1_volume_mount *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_http_header_list {
    deployment_v1_http_header *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_resource_claim_list {
    deployment_v1_resource_claim *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_int32_list {
    int32_t *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_pod_dns_config_option_list {
    deployment_v1_pod_dns_config_option *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_int64_list {
    int64_t *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_sysctl_list {
    deployment_v1_sysctl *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_key_to_path_list {
    deployment_v1_key_to_path *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_downward_api_volume_file_list {
    deployment_v1_downward_api_volume_file *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_persistent_volume_claim_spec_access_modes_list {
    deployment_v1_persistent_volume_claim_spec_access_modes *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_volume_projection_list {
    deployment_v1_volume_projection *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_condition_list {
    deployment_v1_condition *items;
    size_t count;
};

/* `items` of NULL: absent. */
struct deployment_v1_object_meta_owner_references_list {
    deployment_v1_object_meta_owner_references *items;
    size_t count;
};

struct deployment_v1 {
    const char *api_version;
    const char *kind;
    deployment_v1_object_meta2 *metadata;
    deployment_v1_spec *spec;
    deployment_v1_status *status;
};

struct deployment_v1_spec {
    int32_t *min_ready_seconds;
    bool *paused;
    int32_t *progress_deadline_seconds;
    int32_t *replicas;
    int32_t *revision_history_limit;
    deployment_v1_label_selector *selector;
    deployment_v1_strategy *strategy;
    deployment_v1_pod_template_spec *template_;
};

struct deployment_v1_label_selector {
    deployment_v1_label_selector_requirement_list match_expressions;
    deployment_v1_string_map match_labels;
};

struct deployment_v1_label_selector_requirement {
    /* Default: "". */
    const char *key;
    /* Default: "". */
    const char *operator_;
    deployment_v1_string_list values;
};

struct deployment_v1_strategy {
    deployment_v1_rolling_update_deployment *rolling_update;
    deployment_v1_strategy_type type;
};

struct deployment_v1_rolling_update_deployment {
    deployment_v1_int_or_string *max_surge;
    deployment_v1_int_or_string *max_unavailable;
};

struct deployment_v1_pod_template_spec {
    deployment_v1_object_meta *metadata;
    deployment_v1_pod_spec *spec;
};

struct deployment_v1_object_meta {
    deployment_v1_string_map annotations;
    const char *creation_timestamp;
    int64_t *deletion_grace_period_seconds;
    const char *deletion_timestamp;
    deployment_v1_string_list finalizers;
    const char *generate_name;
    int64_t *generation;
    deployment_v1_string_map labels;
    deployment_v1_managed_fields_entry_list managed_fields;
    const char *name;
    const char *namespace_;
    deployment_v1_owner_reference_list owner_references;
    const char *resource_version;
    const char *self_link;
    const char *uid;
};

struct deployment_v1_managed_fields_entry {
    const char *api_version;
    const char *fields_type;
    deployment_v1_value_map fields_v1;
    const char *manager;
    const char *operation;
    const char *subresource;
    const char *time;
};

struct deployment_v1_owner_reference {
    /* Default: "". */
    const char *api_version;
    bool *block_owner_deletion;
    bool *controller;
    /* Default: "". */
    const char *kind;
    /* Default: "". */
    const char *name;
    /* Default: "". */
    const char *uid;
};

struct deployment_v1_pod_spec {
    int64_t *active_deadline_seconds;
    deployment_v1_affinity *affinity;
    bool *automount_service_account_token;
    deployment_v1_container_list containers;
    deployment_v1_pod_dns_config *dns_config;
    deployment_v1_pod_spec_dns_policy dns_policy;
    bool *enable_service_links;
    deployment_v1_ephemeral_container_list ephemeral_containers;
    deployment_v1_host_alias_list host_aliases;
    bool *host_ipc;
    bool *host_network;
    bool *host_pid;
    bool *host_users;
    const char *hostname;
    const char *hostname_override;
    deployment_v1_local_object_reference_list image_pull_secrets;
    deployment_v1_container_list init_containers;
    const char *node_name;
    deployment_v1_string_map node_selector;
    deployment_v1_pod_os *os;
    deployment_v1_int_or_string_map overhead;
    deployment_v1_pod_spec_preemption_policy preemption_policy;
    int32_t *priority;
    const char *priority_class_name;
    deployment_v1_pod_readiness_gate_list readiness_gates;
    deployment_v1_pod_resource_claim_list resource_claims;
    deployment_v1_resource_requirements *resources;
    deployment_v1_pod_spec_restart_policy restart_policy;
    const char *runtime_class_name;
    const char *scheduler_name;
    deployment_v1_pod_scheduling_gate_list scheduling_gates;
    deployment_v1_pod_scheduling_group *scheduling_group;
    deployment_v1_pod_security_context *security_context;
    const char *service_account;
    const char *service_account_name;
    bool *set_hostname_as_fqdn;
    bool *share_process_namespace;
    const char *subdomain;
    int64_t *termination_grace_period_seconds;
    deployment_v1_toleration_list tolerations;
    deployment_v1_topology_spread_constraint_list topology_spread_constraints;
    deployment_v1_volume_list volumes;
};

struct deployment_v1_affinity {
    deployment_v1_node_affinity *node_affinity;
    deployment_v1_pod_affinity *pod_affinity;
    deployment_v1_pod_anti_affinity *pod_anti_affinity;
};

struct deployment_v1_node_affinity {
    deployment_v1_preferred_scheduling_term_list preferred_during_scheduling_ignored_during_execution;
    deployment_v1_node_selector *required_during_scheduling_ignored_during_execution;
};

struct deployment_v1_preferred_scheduling_term {
    deployment_v1_node_selector_term *preference;
    /* Default: 0. */
    int32_t weight;
};

struct deployment_v1_node_selector_term {
    deployment_v1_node_selector_requirement_list match_expressions;
    deployment_v1_node_selector_requirement_list match_fields;
};

struct deployment_v1_node_selector_requirement {
    /* Default: "". */
    const char *key;
    /* Default: "". */
    deployment_v1_node_selector_requirement_operator operator_;
    deployment_v1_string_list values;
};

struct deployment_v1_node_selector {
    deployment_v1_node_selector_term_list node_selector_terms;
};

struct deployment_v1_pod_affinity {
    deployment_v1_weighted_pod_affinity_term_list preferred_during_scheduling_ignored_during_execution;
    deployment_v1_pod_affinity_term_list required_during_scheduling_ignored_during_execution;
};

struct deployment_v1_weighted_pod_affinity_term {
    deployment_v1_pod_affinity_term *pod_affinity_term;
    /* Default: 0. */
    int32_t weight;
};

struct deployment_v1_pod_affinity_term {
    deployment_v1_label_selector *label_selector;
    deployment_v1_string_list match_label_keys;
    deployment_v1_string_list mismatch_label_keys;
    deployment_v1_label_selector *namespace_selector;
    deployment_v1_string_list namespaces;
    /* Default: "". */
    const char *topology_key;
};

struct deployment_v1_pod_anti_affinity {
    deployment_v1_weighted_pod_affinity_term_list preferred_during_scheduling_ignored_during_execution;
    deployment_v1_pod_affinity_term_list required_during_scheduling_ignored_during_execution;
};

struct deployment_v1_container {
    deployment_v1_string_list args;
    deployment_v1_string_list command;
    deployment_v1_env_var_list env;
    deployment_v1_env_from_source_list env_from;
    const char *image;
    deployment_v1_container_image_pull_policy image_pull_policy;
    deployment_v1_lifecycle *lifecycle;
    deployment_v1_probe *liveness_probe;
    /* Default: "". */
    const char *name;
    deployment_v1_container_port_list ports;
    deployment_v1_probe *readiness_probe;
    deployment_v1_container_resize_policy_list resize_policy;
    deployment_v1_resource_requirements *resources;
    const char *restart_policy;
    deployment_v1_container_restart_rule_list restart_policy_rules;
    deployment_v1_security_context *security_context;
    deployment_v1_probe *startup_probe;
    bool *stdin_;
    bool *stdin_once;
    const char *termination_message_path;
    deployment_v1_container_termination_message_policy termination_message_policy;
    bool *tty;
    deployment_v1_volume_device_list volume_devices;
    deployment_v1_volume_mount_list volume_mounts;
    const char *working_dir;
};

struct deployment_v1_env_var {
    /* Default: "". */
    const char *name;
    const char *value;
    deployment_v1_env_var_source *value_from;
};

struct deployment_v1_env_var_source {
    deployment_v1_config_map_key_selector *config_map_key_ref;
    deployment_v1_object_field_selector *field_ref;
    deployment_v1_file_key_selector *file_key_ref;
    deployment_v1_resource_field_selector *resource_field_ref;
    deployment_v1_secret_key_selector *secret_key_ref;
};

struct deployment_v1_config_map_key_selector {
    /* Default: "". */
    const char *key;
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_object_field_selector {
    const char *api_version;
    /* Default: "". */
    const char *field_path;
};

struct deployment_v1_file_key_selector {
    /* Default: "". */
    const char *key;
    /* Default: false. */
    bool *optional;
    /* Default: "". */
    const char *path;
    /* Default: "". */
    const char *volume_name;
};

struct deployment_v1_resource_field_selector {
    const char *container_name;
    deployment_v1_int_or_string *divisor;
    /* Default: "". */
    const char *resource;
};

struct deployment_v1_secret_key_selector {
    /* Default: "". */
    const char *key;
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_env_from_source {
    deployment_v1_config_map_env_source *config_map_ref;
    const char *prefix;
    deployment_v1_secret_env_source *secret_ref;
};

struct deployment_v1_config_map_env_source {
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_secret_env_source {
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_lifecycle {
    deployment_v1_lifecycle_handler *post_start;
    deployment_v1_lifecycle_handler *pre_stop;
    deployment_v1_lifecycle_stop_signal stop_signal;
};

struct deployment_v1_lifecycle_handler {
    deployment_v1_exec_action *exec;
    deployment_v1_http_get_action *http_get;
    deployment_v1_sleep_action *sleep;
    deployment_v1_tcp_socket_action *tcp_socket;
};

struct deployment_v1_exec_action {
    deployment_v1_string_list command;
};

struct deployment_v1_http_get_action {
    const char *host;
    deployment_v1_http_header_list http_headers;
    const char *path;
    deployment_v1_int_or_string port;
    deployment_v1_http_get_action_scheme scheme;
};

struct deployment_v1_http_header {
    /* Default: "". */
    const char *name;
    /* Default: "". */
    const char *value;
};

struct deployment_v1_sleep_action {
    /* Default: 0. */
    int64_t seconds;
};

struct deployment_v1_tcp_socket_action {
    const char *host;
    deployment_v1_int_or_string port;
};

struct deployment_v1_probe {
    deployment_v1_exec_action *exec;
    int32_t *failure_threshold;
    deployment_v1_grpc_action *grpc;
    deployment_v1_http_get_action *http_get;
    int32_t *initial_delay_seconds;
    int32_t *period_seconds;
    int32_t *success_threshold;
    deployment_v1_tcp_socket_action *tcp_socket;
    int64_t *termination_grace_period_seconds;
    int32_t *timeout_seconds;
};

struct deployment_v1_grpc_action {
    /* Default: 0. */
    int32_t port;
    /* Default: "". */
    const char *service;
};

struct deployment_v1_container_port {
    /* Default: 0. */
    int32_t container_port;
    const char *host_ip;
    int32_t *host_port;
    const char *name;
    /* Default: "TCP". */
    deployment_v1_container_port_protocol protocol;
};

struct deployment_v1_container_resize_policy {
    /* Default: "". */
    const char *resource_name;
    /* Default: "". */
    const char *restart_policy;
};

struct deployment_v1_resource_requirements {
    deployment_v1_resource_claim_list claims;
    deployment_v1_int_or_string_map limits;
    deployment_v1_int_or_string_map requests;
};

struct deployment_v1_resource_claim {
    /* Default: "". */
    const char *name;
    const char *request;
};

struct deployment_v1_container_restart_rule {
    const char *action;
    deployment_v1_container_restart_rule_on_exit_codes *exit_codes;
};

struct deployment_v1_container_restart_rule_on_exit_codes {
    const char *operator_;
    deployment_v1_int32_list values;
};

struct deployment_v1_security_context {
    bool *allow_privilege_escalation;
    deployment_v1_app_armor_profile *app_armor_profile;
    deployment_v1_capabilities *capabilities;
    bool *privileged;
    deployment_v1_security_context_proc_mount proc_mount;
    bool *read_only_root_filesystem;
    int64_t *run_as_group;
    bool *run_as_non_root;
    int64_t *run_as_user;
    deployment_v1_se_linux_options *se_linux_options;
    deployment_v1_seccomp_profile *seccomp_profile;
    deployment_v1_windows_security_context_options *windows_options;
};

/* At most one of: localhostProfile (LocalhostProfile), as type says. */
struct deployment_v1_app_armor_profile {
    const char *localhost_profile;
    /* Default: "". */
    deployment_v1_app_armor_profile_type type;
};

struct deployment_v1_capabilities {
    deployment_v1_string_list add;
    deployment_v1_string_list drop;
};

struct deployment_v1_se_linux_options {
    const char *level;
    const char *role;
    const char *type;
    const char *user;
};

/* At most one of: localhostProfile (LocalhostProfile), as type says. */
struct deployment_v1_seccomp_profile {
    const char *localhost_profile;
    /* Default: "". */
    deployment_v1_seccomp_profile_type type;
};

struct deployment_v1_windows_security_context_options {
    const char *gmsa_credential_spec;
    const char *gmsa_credential_spec_name;
    bool *host_process;
    const char *run_as_user_name;
};

struct deployment_v1_volume_device {
    /* Default: "". */
    const char *device_path;
    /* Default: "". */
    const char *name;
};

struct deployment_v1_volume_mount {
    /* Default: "". */
    const char *mount_path;
    deployment_v1_volume_mount_mount_propagation mount_propagation;
    /* Default: "". */
    const char *name;
    bool *read_only;
    const char *recursive_read_only;
    const char *sub_path;
    const char *sub_path_expr;
};

struct deployment_v1_pod_dns_config {
    deployment_v1_string_list nameservers;
    deployment_v1_pod_dns_config_option_list options;
    deployment_v1_string_list searches;
};

struct deployment_v1_pod_dns_config_option {
    const char *name;
    const char *value;
};

struct deployment_v1_ephemeral_container {
    deployment_v1_string_list args;
    deployment_v1_string_list command;
    deployment_v1_env_var_list env;
    deployment_v1_env_from_source_list env_from;
    const char *image;
    deployment_v1_ephemeral_container_image_pull_policy image_pull_policy;
    deployment_v1_lifecycle *lifecycle;
    deployment_v1_probe *liveness_probe;
    /* Default: "". */
    const char *name;
    deployment_v1_container_port_list ports;
    deployment_v1_probe *readiness_probe;
    deployment_v1_container_resize_policy_list resize_policy;
    deployment_v1_resource_requirements *resources;
    const char *restart_policy;
    deployment_v1_container_restart_rule_list restart_policy_rules;
    deployment_v1_security_context *security_context;
    deployment_v1_probe *startup_probe;
    bool *stdin_;
    bool *stdin_once;
    const char *target_container_name;
    const char *termination_message_path;
    deployment_v1_ephemeral_container_termination_message_policy termination_message_policy;
    bool *tty;
    deployment_v1_volume_device_list volume_devices;
    deployment_v1_volume_mount_list volume_mounts;
    const char *working_dir;
};

struct deployment_v1_host_alias {
    deployment_v1_string_list hostnames;
    /* Default: "". */
    const char *ip;
};

struct deployment_v1_local_object_reference {
    /* Default: "". */
    const char *name;
};

struct deployment_v1_pod_os {
    /* Default: "". */
    const char *name;
};

struct deployment_v1_pod_readiness_gate {
    /* Default: "". */
    const char *condition_type;
};

struct deployment_v1_pod_resource_claim {
    /* Default: "". */
    const char *name;
    const char *resource_claim_name;
    const char *resource_claim_template_name;
};

struct deployment_v1_pod_scheduling_gate {
    /* Default: "". */
    const char *name;
};

struct deployment_v1_pod_scheduling_group {
    const char *pod_group_name;
};

struct deployment_v1_pod_security_context {
    deployment_v1_app_armor_profile *app_armor_profile;
    int64_t *fs_group;
    deployment_v1_pod_security_context_fs_group_change_policy fs_group_change_policy;
    int64_t *run_as_group;
    bool *run_as_non_root;
    int64_t *run_as_user;
    const char *se_linux_change_policy;
    deployment_v1_se_linux_options *se_linux_options;
    deployment_v1_seccomp_profile *seccomp_profile;
    deployment_v1_int64_list supplemental_groups;
    deployment_v1_pod_security_context_supplemental_groups_policy supplemental_groups_policy;
    deployment_v1_sysctl_list sysctls;
    deployment_v1_windows_security_context_options *windows_options;
};

struct deployment_v1_sysctl {
    /* Default: "". */
    const char *name;
    /* Default: "". */
    const char *value;
};

struct deployment_v1_toleration {
    deployment_v1_toleration_effect effect;
    const char *key;
    deployment_v1_toleration_operator operator_;
    int64_t *toleration_seconds;
    const char *value;
};

struct deployment_v1_topology_spread_constraint {
    deployment_v1_label_selector *label_selector;
    deployment_v1_string_list match_label_keys;
    /* Default: 0. */
    int32_t max_skew;
    int32_t *min_domains;
    deployment_v1_topology_spread_constraint_node_affinity_policy node_affinity_policy;
    deployment_v1_topology_spread_constraint_node_taints_policy node_taints_policy;
    /* Default: "". */
    const char *topology_key;
    /* Default: "". */
    deployment_v1_topology_spread_constraint_when_unsatisfiable when_unsatisfiable;
};

struct deployment_v1_volume {
    deployment_v1_aws_elastic_block_store_volume_source *aws_elastic_block_store;
    deployment_v1_azure_disk_volume_source *azure_disk;
    deployment_v1_azure_file_volume_source *azure_file;
    deployment_v1_ceph_fs_volume_source *cephfs;
    deployment_v1_cinder_volume_source *cinder;
    deployment_v1_config_map_volume_source *config_map;
    deployment_v1_csi_volume_source *csi;
    deployment_v1_downward_api_volume_source *downward_api;
    deployment_v1_empty_dir_volume_source *empty_dir;
    deployment_v1_ephemeral_volume_source *ephemeral;
    deployment_v1_fc_volume_source *fc;
    deployment_v1_flex_volume_source *flex_volume;
    deployment_v1_flocker_volume_source *flocker;
    deployment_v1_gce_persistent_disk_volume_source *gce_persistent_disk;
    deployment_v1_git_repo_volume_source *git_repo;
    deployment_v1_glusterfs_volume_source *glusterfs;
    deployment_v1_host_path_volume_source *host_path;
    deployment_v1_image_volume_source *image;
    deployment_v1_iscsi_volume_source *iscsi;
    /* Default: "". */
    const char *name;
    deployment_v1_nfs_volume_source *nfs;
    deployment_v1_persistent_volume_claim_volume_source *persistent_volume_claim;
    deployment_v1_photon_persistent_disk_volume_source *photon_persistent_disk;
    deployment_v1_portworx_volume_source *portworx_volume;
    deployment_v1_projected_volume_source *projected;
    deployment_v1_quobyte_volume_source *quobyte;
    deployment_v1_rbd_volume_source *rbd;
    deployment_v1_scale_io_volume_source *scale_io;
    deployment_v1_secret_volume_source *secret;
    deployment_v1_storage_os_volume_source *storageos;
    deployment_v1_vsphere_virtual_disk_volume_source *vsphere_volume;
};

struct deployment_v1_aws_elastic_block_store_volume_source {
    const char *fs_type;
    int32_t *partition;
    bool *read_only;
    /* Default: "". */
    const char *volume_id;
};

struct deployment_v1_azure_disk_volume_source {
    /* Default: "ReadWrite". */
    deployment_v1_azure_disk_volume_source_caching_mode caching_mode;
    /* Default: "". */
    const char *disk_name;
    /* Default: "". */
    const char *disk_uri;
    /* Default: "ext4". */
    const char *fs_type;
    /* Default: "Shared". */
    deployment_v1_azure_disk_volume_source_kind kind;
    /* Default: false. */
    bool *read_only;
};

struct deployment_v1_azure_file_volume_source {
    bool *read_only;
    /* Default: "". */
    const char *secret_name;
    /* Default: "". */
    const char *share_name;
};

struct deployment_v1_ceph_fs_volume_source {
    deployment_v1_string_list monitors;
    const char *path;
    bool *read_only;
    const char *secret_file;
    deployment_v1_local_object_reference *secret_ref;
    const char *user;
};

struct deployment_v1_cinder_volume_source {
    const char *fs_type;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
    /* Default: "". */
    const char *volume_id;
};

struct deployment_v1_config_map_volume_source {
    int32_t *default_mode;
    deployment_v1_key_to_path_list items;
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_key_to_path {
    /* Default: "". */
    const char *key;
    int32_t *mode;
    /* Default: "". */
    const char *path;
};

struct deployment_v1_csi_volume_source {
    /* Default: "". */
    const char *driver;
    const char *fs_type;
    deployment_v1_local_object_reference *node_publish_secret_ref;
    bool *read_only;
    deployment_v1_string_map volume_attributes;
};

struct deployment_v1_downward_api_volume_source {
    int32_t *default_mode;
    deployment_v1_downward_api_volume_file_list items;
};

struct deployment_v1_downward_api_volume_file {
    deployment_v1_object_field_selector *field_ref;
    int32_t *mode;
    /* Default: "". */
    const char *path;
    deployment_v1_resource_field_selector *resource_field_ref;
};

struct deployment_v1_empty_dir_volume_source {
    const char *medium;
    deployment_v1_int_or_string *size_limit;
};

struct deployment_v1_ephemeral_volume_source {
    deployment_v1_persistent_volume_claim_template *volume_claim_template;
};

struct deployment_v1_persistent_volume_claim_template {
    deployment_v1_object_meta *metadata;
    deployment_v1_persistent_volume_claim_spec *spec;
};

struct deployment_v1_persistent_volume_claim_spec {
    deployment_v1_persistent_volume_claim_spec_access_modes_list access_modes;
    deployment_v1_typed_local_object_reference *data_source;
    deployment_v1_typed_object_reference *data_source_ref;
    deployment_v1_volume_resource_requirements *resources;
    deployment_v1_label_selector *selector;
    const char *storage_class_name;
    const char *volume_attributes_class_name;
    deployment_v1_persistent_volume_claim_spec_volume_mode volume_mode;
    const char *volume_name;
};

struct deployment_v1_typed_local_object_reference {
    const char *api_group;
    /* Default: "". */
    const char *kind;
    /* Default: "". */
    const char *name;
};

struct deployment_v1_typed_object_reference {
    const char *api_group;
    /* Default: "". */
    const char *kind;
    /* Default: "". */
    const char *name;
    const char *namespace_;
};

struct deployment_v1_volume_resource_requirements {
    deployment_v1_int_or_string_map limits;
    deployment_v1_int_or_string_map requests;
};

struct deployment_v1_fc_volume_source {
    const char *fs_type;
    int32_t *lun;
    bool *read_only;
    deployment_v1_string_list target_wwns;
    deployment_v1_string_list wwids;
};

struct deployment_v1_flex_volume_source {
    /* Default: "". */
    const char *driver;
    const char *fs_type;
    deployment_v1_string_map options;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
};

struct deployment_v1_flocker_volume_source {
    const char *dataset_name;
    const char *dataset_uuid;
};

struct deployment_v1_gce_persistent_disk_volume_source {
    const char *fs_type;
    int32_t *partition;
    /* Default: "". */
    const char *pd_name;
    bool *read_only;
};

struct deployment_v1_git_repo_volume_source {
    const char *directory;
    /* Default: "". */
    const char *repository;
    const char *revision;
};

struct deployment_v1_glusterfs_volume_source {
    /* Default: "". */
    const char *endpoints;
    /* Default: "". */
    const char *path;
    bool *read_only;
};

struct deployment_v1_host_path_volume_source {
    /* Default: "". */
    const char *path;
    deployment_v1_host_path_volume_source_type type;
};

struct deployment_v1_image_volume_source {
    deployment_v1_image_volume_source_pull_policy pull_policy;
    const char *reference;
};

struct deployment_v1_iscsi_volume_source {
    bool *chap_auth_discovery;
    bool *chap_auth_session;
    const char *fs_type;
    const char *initiator_name;
    /* Default: "". */
    const char *iqn;
    /* Default: "default". */
    const char *iscsi_interface;
    /* Default: 0. */
    int32_t lun;
    deployment_v1_string_list portals;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
    /* Default: "". */
    const char *target_portal;
};

struct deployment_v1_nfs_volume_source {
    /* Default: "". */
    const char *path;
    bool *read_only;
    /* Default: "". */
    const char *server;
};

struct deployment_v1_persistent_volume_claim_volume_source {
    /* Default: "". */
    const char *claim_name;
    bool *read_only;
};

struct deployment_v1_photon_persistent_disk_volume_source {
    const char *fs_type;
    /* Default: "". */
    const char *pd_id;
};

struct deployment_v1_portworx_volume_source {
    const char *fs_type;
    bool *read_only;
    /* Default: "". */
    const char *volume_id;
};

struct deployment_v1_projected_volume_source {
    int32_t *default_mode;
    deployment_v1_volume_projection_list sources;
};

struct deployment_v1_volume_projection {
    deployment_v1_cluster_trust_bundle_projection *cluster_trust_bundle;
    deployment_v1_config_map_projection *config_map;
    deployment_v1_downward_api_projection *downward_api;
    deployment_v1_pod_certificate_projection *pod_certificate;
    deployment_v1_secret_projection *secret;
    deployment_v1_service_account_token_projection *service_account_token;
};

struct deployment_v1_cluster_trust_bundle_projection {
    deployment_v1_label_selector *label_selector;
    const char *name;
    bool *optional;
    /* Default: "". */
    const char *path;
    const char *signer_name;
};

struct deployment_v1_config_map_projection {
    deployment_v1_key_to_path_list items;
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_downward_api_projection {
    deployment_v1_downward_api_volume_file_list items;
};

struct deployment_v1_pod_certificate_projection {
    const char *certificate_chain_path;
    const char *credential_bundle_path;
    const char *key_path;
    const char *key_type;
    int32_t *max_expiration_seconds;
    const char *signer_name;
    deployment_v1_string_map user_annotations;
};

struct deployment_v1_secret_projection {
    deployment_v1_key_to_path_list items;
    /* Default: "". */
    const char *name;
    bool *optional;
};

struct deployment_v1_service_account_token_projection {
    const char *audience;
    int64_t *expiration_seconds;
    /* Default: "". */
    const char *path;
};

struct deployment_v1_quobyte_volume_source {
    const char *group;
    bool *read_only;
    /* Default: "". */
    const char *registry;
    const char *tenant;
    const char *user;
    /* Default: "". */
    const char *volume;
};

struct deployment_v1_rbd_volume_source {
    const char *fs_type;
    /* Default: "". */
    const char *image;
    /* Default: "/etc/ceph/keyring". */
    const char *keyring;
    deployment_v1_string_list monitors;
    /* Default: "rbd". */
    const char *pool;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
    /* Default: "admin". */
    const char *user;
};

struct deployment_v1_scale_io_volume_source {
    /* Default: "xfs". */
    const char *fs_type;
    /* Default: "". */
    const char *gateway;
    const char *protection_domain;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
    bool *ssl_enabled;
    /* Default: "ThinProvisioned". */
    const char *storage_mode;
    const char *storage_pool;
    /* Default: "". */
    const char *system;
    const char *volume_name;
};

struct deployment_v1_secret_volume_source {
    int32_t *default_mode;
    deployment_v1_key_to_path_list items;
    bool *optional;
    const char *secret_name;
};

struct deployment_v1_storage_os_volume_source {
    const char *fs_type;
    bool *read_only;
    deployment_v1_local_object_reference *secret_ref;
    const char *volume_name;
    const char *volume_namespace;
};

struct deployment_v1_vsphere_virtual_disk_volume_source {
    const char *fs_type;
    const char *storage_policy_id;
    const char *storage_policy_name;
    /* Default: "". */
    const char *volume_path;
};

struct deployment_v1_status {
    int32_t *available_replicas;
    int32_t *collision_count;
    deployment_v1_condition_list conditions;
    int64_t *observed_generation;
    int32_t *ready_replicas;
    int32_t *replicas;
    int32_t *terminating_replicas;
    int32_t *unavailable_replicas;
    int32_t *updated_replicas;
};

struct deployment_v1_condition {
    const char *last_transition_time;
    const char *last_update_time;
    const char *message;
    const char *reason;
    /* Default: "". */
    const char *status;
    /* Default: "". */
    const char *type;
};

/* The metadata of an object. */
struct deployment_v1_object_meta2 {
    deployment_v1_string_map annotations;
    const char *creation_timestamp;
    const char *deletion_timestamp;
    deployment_v1_string_list finalizers;
    const char *generate_name;
    int64_t *generation;
    deployment_v1_string_map labels;
    const char *name;
    const char *namespace_;
    deployment_v1_object_meta_owner_references_list owner_references;
    const char *resource_version;
    const char *uid;
    /* An object with the fields outside the schema, or NULL. */
    const json *other;
};

/* An owner of the object. */
struct deployment_v1_object_meta_owner_references {
    const char *api_version;
    bool *block_owner_deletion;
    bool *controller;
    const char *kind;
    const char *name;
    const char *uid;
};

struct deployment_v1_string_map_entry {
    const char *key;
    const char *value;
};

struct deployment_v1_value_map_entry {
    const char *key;
    const json *value;
};

struct deployment_v1_int_or_string_map_entry {
    const char *key;
    deployment_v1_int_or_string value;
};

/* ---- Reading ---- */

typedef struct {
    oarlock_mem *mem;
    /* What is wrong, and where. */
    const char *problem;
} deployment_v1_reader;

static inline bool deployment_v1_wrong(deployment_v1_reader *in, const char *expected) {
    in->problem = oarlock_text(in->mem, ": not %s", expected);
    return false;
}

/* The problem is in this field. */
static inline bool deployment_v1_in_field(deployment_v1_reader *in, const char *name) {
    in->problem = oarlock_text(in->mem, ".%s%s", name, in->problem);
    return false;
}

static inline bool deployment_v1_in_list(deployment_v1_reader *in, size_t place) {
    in->problem = oarlock_text(in->mem, "[%zu]%s", place, in->problem);
    return false;
}

static inline bool deployment_v1_is(deployment_v1_reader *in, const json *value, json_type type, const char *expected) {
    return json_type_of(value) == type || deployment_v1_wrong(in, expected);
}

static inline bool deployment_v1_is_null(const json *value) {
    return json_type_of(value) == JSON_NULL;
}

static inline bool deployment_v1_has(const json *value) {
    return json_type_of(value) != JSON_ABSENT && json_type_of(value) != JSON_NULL;
}

static inline bool deployment_v1_string_read(deployment_v1_reader *in, const json *value, const char **out) {
    *out = json_text(value);
    if (!*out) return deployment_v1_wrong(in, "a string");
    return strlen(*out) == json_text_len(value) || deployment_v1_wrong(in, "a string without U+0000");
}

static inline bool deployment_v1_bool_read(deployment_v1_reader *in, const json *value, bool *out) {
    *out = json_true(value);
    return deployment_v1_is(in, value, JSON_BOOL, "true or false");
}

static inline bool deployment_v1_int64_read(deployment_v1_reader *in, const json *value, int64_t *out) {
    return json_int(value, out) || deployment_v1_wrong(in, "an integer of 64 bits");
}

static inline bool deployment_v1_int32_read(deployment_v1_reader *in, const json *value, int32_t *out) {
    int64_t number;
    if (!json_int(value, &number) || number < INT32_MIN || number > INT32_MAX) return deployment_v1_wrong(in, "an integer of 32 bits");
    *out = (int32_t)number;
    return true;
}

static inline bool deployment_v1_double_read(deployment_v1_reader *in, const json *value, double *out) {
    return json_double(value, out) || deployment_v1_wrong(in, "a number");
}

static inline bool deployment_v1_int_or_string_read(deployment_v1_reader *in, const json *value, deployment_v1_int_or_string *out) {
    out->text = NULL;
    if (json_type_of(value) == JSON_STRING) return deployment_v1_string_read(in, value, &out->text);
    return json_int(value, &out->number) || deployment_v1_wrong(in, "an integer or a string");
}

static inline const json *deployment_v1_int_or_string_write(oarlock_mem *mem, const deployment_v1_int_or_string *in) {
    return in->text ? json_new_text(mem, in->text) : json_new_int(mem, in->number);
}

static inline bool deployment_v1_read(deployment_v1_reader *in, const json *value, deployment_v1 *out);
static inline const json *deployment_v1_to_json(oarlock_mem *mem, const deployment_v1 *in);
static inline bool deployment_v1_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_spec *out);
static inline const json *deployment_v1_spec_to_json(oarlock_mem *mem, const deployment_v1_spec *in);
static inline bool deployment_v1_label_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector *out);
static inline const json *deployment_v1_label_selector_to_json(oarlock_mem *mem, const deployment_v1_label_selector *in);
static inline bool deployment_v1_label_selector_requirement_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector_requirement *out);
static inline const json *deployment_v1_label_selector_requirement_to_json(oarlock_mem *mem, const deployment_v1_label_selector_requirement *in);
static inline bool deployment_v1_strategy_read(deployment_v1_reader *in, const json *value, deployment_v1_strategy *out);
static inline const json *deployment_v1_strategy_to_json(oarlock_mem *mem, const deployment_v1_strategy *in);
static inline bool deployment_v1_rolling_update_deployment_read(deployment_v1_reader *in, const json *value, deployment_v1_rolling_update_deployment *out);
static inline const json *deployment_v1_rolling_update_deployment_to_json(oarlock_mem *mem, const deployment_v1_rolling_update_deployment *in);
static inline bool deployment_v1_pod_template_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_template_spec *out);
static inline const json *deployment_v1_pod_template_spec_to_json(oarlock_mem *mem, const deployment_v1_pod_template_spec *in);
static inline bool deployment_v1_object_meta_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta *out);
static inline const json *deployment_v1_object_meta_to_json(oarlock_mem *mem, const deployment_v1_object_meta *in);
static inline bool deployment_v1_managed_fields_entry_read(deployment_v1_reader *in, const json *value, deployment_v1_managed_fields_entry *out);
static inline const json *deployment_v1_managed_fields_entry_to_json(oarlock_mem *mem, const deployment_v1_managed_fields_entry *in);
static inline bool deployment_v1_owner_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_owner_reference *out);
static inline const json *deployment_v1_owner_reference_to_json(oarlock_mem *mem, const deployment_v1_owner_reference *in);
static inline bool deployment_v1_pod_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_spec *out);
static inline const json *deployment_v1_pod_spec_to_json(oarlock_mem *mem, const deployment_v1_pod_spec *in);
static inline bool deployment_v1_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_affinity *out);
static inline const json *deployment_v1_affinity_to_json(oarlock_mem *mem, const deployment_v1_affinity *in);
static inline bool deployment_v1_node_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_node_affinity *out);
static inline const json *deployment_v1_node_affinity_to_json(oarlock_mem *mem, const deployment_v1_node_affinity *in);
static inline bool deployment_v1_preferred_scheduling_term_read(deployment_v1_reader *in, const json *value, deployment_v1_preferred_scheduling_term *out);
static inline const json *deployment_v1_preferred_scheduling_term_to_json(oarlock_mem *mem, const deployment_v1_preferred_scheduling_term *in);
static inline bool deployment_v1_node_selector_term_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_term *out);
static inline const json *deployment_v1_node_selector_term_to_json(oarlock_mem *mem, const deployment_v1_node_selector_term *in);
static inline bool deployment_v1_node_selector_requirement_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_requirement *out);
static inline const json *deployment_v1_node_selector_requirement_to_json(oarlock_mem *mem, const deployment_v1_node_selector_requirement *in);
static inline bool deployment_v1_node_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector *out);
static inline const json *deployment_v1_node_selector_to_json(oarlock_mem *mem, const deployment_v1_node_selector *in);
static inline bool deployment_v1_pod_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity *out);
static inline const json *deployment_v1_pod_affinity_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity *in);
static inline bool deployment_v1_weighted_pod_affinity_term_read(deployment_v1_reader *in, const json *value, deployment_v1_weighted_pod_affinity_term *out);
static inline const json *deployment_v1_weighted_pod_affinity_term_to_json(oarlock_mem *mem, const deployment_v1_weighted_pod_affinity_term *in);
static inline bool deployment_v1_pod_affinity_term_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity_term *out);
static inline const json *deployment_v1_pod_affinity_term_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity_term *in);
static inline bool deployment_v1_pod_anti_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_anti_affinity *out);
static inline const json *deployment_v1_pod_anti_affinity_to_json(oarlock_mem *mem, const deployment_v1_pod_anti_affinity *in);
static inline bool deployment_v1_container_read(deployment_v1_reader *in, const json *value, deployment_v1_container *out);
static inline const json *deployment_v1_container_to_json(oarlock_mem *mem, const deployment_v1_container *in);
static inline bool deployment_v1_env_var_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var *out);
static inline const json *deployment_v1_env_var_to_json(oarlock_mem *mem, const deployment_v1_env_var *in);
static inline bool deployment_v1_env_var_source_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var_source *out);
static inline const json *deployment_v1_env_var_source_to_json(oarlock_mem *mem, const deployment_v1_env_var_source *in);
static inline bool deployment_v1_config_map_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_key_selector *out);
static inline const json *deployment_v1_config_map_key_selector_to_json(oarlock_mem *mem, const deployment_v1_config_map_key_selector *in);
static inline bool deployment_v1_object_field_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_object_field_selector *out);
static inline const json *deployment_v1_object_field_selector_to_json(oarlock_mem *mem, const deployment_v1_object_field_selector *in);
static inline bool deployment_v1_file_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_file_key_selector *out);
static inline const json *deployment_v1_file_key_selector_to_json(oarlock_mem *mem, const deployment_v1_file_key_selector *in);
static inline bool deployment_v1_resource_field_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_field_selector *out);
static inline const json *deployment_v1_resource_field_selector_to_json(oarlock_mem *mem, const deployment_v1_resource_field_selector *in);
static inline bool deployment_v1_secret_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_key_selector *out);
static inline const json *deployment_v1_secret_key_selector_to_json(oarlock_mem *mem, const deployment_v1_secret_key_selector *in);
static inline bool deployment_v1_env_from_source_read(deployment_v1_reader *in, const json *value, deployment_v1_env_from_source *out);
static inline const json *deployment_v1_env_from_source_to_json(oarlock_mem *mem, const deployment_v1_env_from_source *in);
static inline bool deployment_v1_config_map_env_source_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_env_source *out);
static inline const json *deployment_v1_config_map_env_source_to_json(oarlock_mem *mem, const deployment_v1_config_map_env_source *in);
static inline bool deployment_v1_secret_env_source_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_env_source *out);
static inline const json *deployment_v1_secret_env_source_to_json(oarlock_mem *mem, const deployment_v1_secret_env_source *in);
static inline bool deployment_v1_lifecycle_read(deployment_v1_reader *in, const json *value, deployment_v1_lifecycle *out);
static inline const json *deployment_v1_lifecycle_to_json(oarlock_mem *mem, const deployment_v1_lifecycle *in);
static inline bool deployment_v1_lifecycle_handler_read(deployment_v1_reader *in, const json *value, deployment_v1_lifecycle_handler *out);
static inline const json *deployment_v1_lifecycle_handler_to_json(oarlock_mem *mem, const deployment_v1_lifecycle_handler *in);
static inline bool deployment_v1_exec_action_read(deployment_v1_reader *in, const json *value, deployment_v1_exec_action *out);
static inline const json *deployment_v1_exec_action_to_json(oarlock_mem *mem, const deployment_v1_exec_action *in);
static inline bool deployment_v1_http_get_action_read(deployment_v1_reader *in, const json *value, deployment_v1_http_get_action *out);
static inline const json *deployment_v1_http_get_action_to_json(oarlock_mem *mem, const deployment_v1_http_get_action *in);
static inline bool deployment_v1_http_header_read(deployment_v1_reader *in, const json *value, deployment_v1_http_header *out);
static inline const json *deployment_v1_http_header_to_json(oarlock_mem *mem, const deployment_v1_http_header *in);
static inline bool deployment_v1_sleep_action_read(deployment_v1_reader *in, const json *value, deployment_v1_sleep_action *out);
static inline const json *deployment_v1_sleep_action_to_json(oarlock_mem *mem, const deployment_v1_sleep_action *in);
static inline bool deployment_v1_tcp_socket_action_read(deployment_v1_reader *in, const json *value, deployment_v1_tcp_socket_action *out);
static inline const json *deployment_v1_tcp_socket_action_to_json(oarlock_mem *mem, const deployment_v1_tcp_socket_action *in);
static inline bool deployment_v1_probe_read(deployment_v1_reader *in, const json *value, deployment_v1_probe *out);
static inline const json *deployment_v1_probe_to_json(oarlock_mem *mem, const deployment_v1_probe *in);
static inline bool deployment_v1_grpc_action_read(deployment_v1_reader *in, const json *value, deployment_v1_grpc_action *out);
static inline const json *deployment_v1_grpc_action_to_json(oarlock_mem *mem, const deployment_v1_grpc_action *in);
static inline bool deployment_v1_container_port_read(deployment_v1_reader *in, const json *value, deployment_v1_container_port *out);
static inline const json *deployment_v1_container_port_to_json(oarlock_mem *mem, const deployment_v1_container_port *in);
static inline bool deployment_v1_container_resize_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_container_resize_policy *out);
static inline const json *deployment_v1_container_resize_policy_to_json(oarlock_mem *mem, const deployment_v1_container_resize_policy *in);
static inline bool deployment_v1_resource_requirements_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_requirements *out);
static inline const json *deployment_v1_resource_requirements_to_json(oarlock_mem *mem, const deployment_v1_resource_requirements *in);
static inline bool deployment_v1_resource_claim_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_claim *out);
static inline const json *deployment_v1_resource_claim_to_json(oarlock_mem *mem, const deployment_v1_resource_claim *in);
static inline bool deployment_v1_container_restart_rule_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule *out);
static inline const json *deployment_v1_container_restart_rule_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule *in);
static inline bool deployment_v1_container_restart_rule_on_exit_codes_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule_on_exit_codes *out);
static inline const json *deployment_v1_container_restart_rule_on_exit_codes_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule_on_exit_codes *in);
static inline bool deployment_v1_security_context_read(deployment_v1_reader *in, const json *value, deployment_v1_security_context *out);
static inline const json *deployment_v1_security_context_to_json(oarlock_mem *mem, const deployment_v1_security_context *in);
static inline bool deployment_v1_app_armor_profile_read(deployment_v1_reader *in, const json *value, deployment_v1_app_armor_profile *out);
static inline const json *deployment_v1_app_armor_profile_to_json(oarlock_mem *mem, const deployment_v1_app_armor_profile *in);
static inline bool deployment_v1_capabilities_read(deployment_v1_reader *in, const json *value, deployment_v1_capabilities *out);
static inline const json *deployment_v1_capabilities_to_json(oarlock_mem *mem, const deployment_v1_capabilities *in);
static inline bool deployment_v1_se_linux_options_read(deployment_v1_reader *in, const json *value, deployment_v1_se_linux_options *out);
static inline const json *deployment_v1_se_linux_options_to_json(oarlock_mem *mem, const deployment_v1_se_linux_options *in);
static inline bool deployment_v1_seccomp_profile_read(deployment_v1_reader *in, const json *value, deployment_v1_seccomp_profile *out);
static inline const json *deployment_v1_seccomp_profile_to_json(oarlock_mem *mem, const deployment_v1_seccomp_profile *in);
static inline bool deployment_v1_windows_security_context_options_read(deployment_v1_reader *in, const json *value, deployment_v1_windows_security_context_options *out);
static inline const json *deployment_v1_windows_security_context_options_to_json(oarlock_mem *mem, const deployment_v1_windows_security_context_options *in);
static inline bool deployment_v1_volume_device_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_device *out);
static inline const json *deployment_v1_volume_device_to_json(oarlock_mem *mem, const deployment_v1_volume_device *in);
static inline bool deployment_v1_volume_mount_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_mount *out);
static inline const json *deployment_v1_volume_mount_to_json(oarlock_mem *mem, const deployment_v1_volume_mount *in);
static inline bool deployment_v1_pod_dns_config_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config *out);
static inline const json *deployment_v1_pod_dns_config_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config *in);
static inline bool deployment_v1_pod_dns_config_option_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config_option *out);
static inline const json *deployment_v1_pod_dns_config_option_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config_option *in);
static inline bool deployment_v1_ephemeral_container_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container *out);
static inline const json *deployment_v1_ephemeral_container_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_container *in);
static inline bool deployment_v1_host_alias_read(deployment_v1_reader *in, const json *value, deployment_v1_host_alias *out);
static inline const json *deployment_v1_host_alias_to_json(oarlock_mem *mem, const deployment_v1_host_alias *in);
static inline bool deployment_v1_local_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_local_object_reference *out);
static inline const json *deployment_v1_local_object_reference_to_json(oarlock_mem *mem, const deployment_v1_local_object_reference *in);
static inline bool deployment_v1_pod_os_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_os *out);
static inline const json *deployment_v1_pod_os_to_json(oarlock_mem *mem, const deployment_v1_pod_os *in);
static inline bool deployment_v1_pod_readiness_gate_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_readiness_gate *out);
static inline const json *deployment_v1_pod_readiness_gate_to_json(oarlock_mem *mem, const deployment_v1_pod_readiness_gate *in);
static inline bool deployment_v1_pod_resource_claim_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_resource_claim *out);
static inline const json *deployment_v1_pod_resource_claim_to_json(oarlock_mem *mem, const deployment_v1_pod_resource_claim *in);
static inline bool deployment_v1_pod_scheduling_gate_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_gate *out);
static inline const json *deployment_v1_pod_scheduling_gate_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_gate *in);
static inline bool deployment_v1_pod_scheduling_group_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_group *out);
static inline const json *deployment_v1_pod_scheduling_group_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_group *in);
static inline bool deployment_v1_pod_security_context_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_security_context *out);
static inline const json *deployment_v1_pod_security_context_to_json(oarlock_mem *mem, const deployment_v1_pod_security_context *in);
static inline bool deployment_v1_sysctl_read(deployment_v1_reader *in, const json *value, deployment_v1_sysctl *out);
static inline const json *deployment_v1_sysctl_to_json(oarlock_mem *mem, const deployment_v1_sysctl *in);
static inline bool deployment_v1_toleration_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration *out);
static inline const json *deployment_v1_toleration_to_json(oarlock_mem *mem, const deployment_v1_toleration *in);
static inline bool deployment_v1_topology_spread_constraint_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint *out);
static inline const json *deployment_v1_topology_spread_constraint_to_json(oarlock_mem *mem, const deployment_v1_topology_spread_constraint *in);
static inline bool deployment_v1_volume_read(deployment_v1_reader *in, const json *value, deployment_v1_volume *out);
static inline const json *deployment_v1_volume_to_json(oarlock_mem *mem, const deployment_v1_volume *in);
static inline bool deployment_v1_aws_elastic_block_store_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_aws_elastic_block_store_volume_source *out);
static inline const json *deployment_v1_aws_elastic_block_store_volume_source_to_json(oarlock_mem *mem, const deployment_v1_aws_elastic_block_store_volume_source *in);
static inline bool deployment_v1_azure_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_disk_volume_source *out);
static inline const json *deployment_v1_azure_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_azure_disk_volume_source *in);
static inline bool deployment_v1_azure_file_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_file_volume_source *out);
static inline const json *deployment_v1_azure_file_volume_source_to_json(oarlock_mem *mem, const deployment_v1_azure_file_volume_source *in);
static inline bool deployment_v1_ceph_fs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_ceph_fs_volume_source *out);
static inline const json *deployment_v1_ceph_fs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_ceph_fs_volume_source *in);
static inline bool deployment_v1_cinder_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_cinder_volume_source *out);
static inline const json *deployment_v1_cinder_volume_source_to_json(oarlock_mem *mem, const deployment_v1_cinder_volume_source *in);
static inline bool deployment_v1_config_map_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_volume_source *out);
static inline const json *deployment_v1_config_map_volume_source_to_json(oarlock_mem *mem, const deployment_v1_config_map_volume_source *in);
static inline bool deployment_v1_key_to_path_read(deployment_v1_reader *in, const json *value, deployment_v1_key_to_path *out);
static inline const json *deployment_v1_key_to_path_to_json(oarlock_mem *mem, const deployment_v1_key_to_path *in);
static inline bool deployment_v1_csi_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_csi_volume_source *out);
static inline const json *deployment_v1_csi_volume_source_to_json(oarlock_mem *mem, const deployment_v1_csi_volume_source *in);
static inline bool deployment_v1_downward_api_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_source *out);
static inline const json *deployment_v1_downward_api_volume_source_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_source *in);
static inline bool deployment_v1_downward_api_volume_file_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_file *out);
static inline const json *deployment_v1_downward_api_volume_file_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_file *in);
static inline bool deployment_v1_empty_dir_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_empty_dir_volume_source *out);
static inline const json *deployment_v1_empty_dir_volume_source_to_json(oarlock_mem *mem, const deployment_v1_empty_dir_volume_source *in);
static inline bool deployment_v1_ephemeral_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_volume_source *out);
static inline const json *deployment_v1_ephemeral_volume_source_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_volume_source *in);
static inline bool deployment_v1_persistent_volume_claim_template_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_template *out);
static inline const json *deployment_v1_persistent_volume_claim_template_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_template *in);
static inline bool deployment_v1_persistent_volume_claim_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec *out);
static inline const json *deployment_v1_persistent_volume_claim_spec_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_spec *in);
static inline bool deployment_v1_typed_local_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_typed_local_object_reference *out);
static inline const json *deployment_v1_typed_local_object_reference_to_json(oarlock_mem *mem, const deployment_v1_typed_local_object_reference *in);
static inline bool deployment_v1_typed_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_typed_object_reference *out);
static inline const json *deployment_v1_typed_object_reference_to_json(oarlock_mem *mem, const deployment_v1_typed_object_reference *in);
static inline bool deployment_v1_volume_resource_requirements_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_resource_requirements *out);
static inline const json *deployment_v1_volume_resource_requirements_to_json(oarlock_mem *mem, const deployment_v1_volume_resource_requirements *in);
static inline bool deployment_v1_fc_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_fc_volume_source *out);
static inline const json *deployment_v1_fc_volume_source_to_json(oarlock_mem *mem, const deployment_v1_fc_volume_source *in);
static inline bool deployment_v1_flex_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_flex_volume_source *out);
static inline const json *deployment_v1_flex_volume_source_to_json(oarlock_mem *mem, const deployment_v1_flex_volume_source *in);
static inline bool deployment_v1_flocker_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_flocker_volume_source *out);
static inline const json *deployment_v1_flocker_volume_source_to_json(oarlock_mem *mem, const deployment_v1_flocker_volume_source *in);
static inline bool deployment_v1_gce_persistent_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_gce_persistent_disk_volume_source *out);
static inline const json *deployment_v1_gce_persistent_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_gce_persistent_disk_volume_source *in);
static inline bool deployment_v1_git_repo_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_git_repo_volume_source *out);
static inline const json *deployment_v1_git_repo_volume_source_to_json(oarlock_mem *mem, const deployment_v1_git_repo_volume_source *in);
static inline bool deployment_v1_glusterfs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_glusterfs_volume_source *out);
static inline const json *deployment_v1_glusterfs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_glusterfs_volume_source *in);
static inline bool deployment_v1_host_path_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_host_path_volume_source *out);
static inline const json *deployment_v1_host_path_volume_source_to_json(oarlock_mem *mem, const deployment_v1_host_path_volume_source *in);
static inline bool deployment_v1_image_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_image_volume_source *out);
static inline const json *deployment_v1_image_volume_source_to_json(oarlock_mem *mem, const deployment_v1_image_volume_source *in);
static inline bool deployment_v1_iscsi_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_iscsi_volume_source *out);
static inline const json *deployment_v1_iscsi_volume_source_to_json(oarlock_mem *mem, const deployment_v1_iscsi_volume_source *in);
static inline bool deployment_v1_nfs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_nfs_volume_source *out);
static inline const json *deployment_v1_nfs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_nfs_volume_source *in);
static inline bool deployment_v1_persistent_volume_claim_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_volume_source *out);
static inline const json *deployment_v1_persistent_volume_claim_volume_source_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_volume_source *in);
static inline bool deployment_v1_photon_persistent_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_photon_persistent_disk_volume_source *out);
static inline const json *deployment_v1_photon_persistent_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_photon_persistent_disk_volume_source *in);
static inline bool deployment_v1_portworx_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_portworx_volume_source *out);
static inline const json *deployment_v1_portworx_volume_source_to_json(oarlock_mem *mem, const deployment_v1_portworx_volume_source *in);
static inline bool deployment_v1_projected_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_projected_volume_source *out);
static inline const json *deployment_v1_projected_volume_source_to_json(oarlock_mem *mem, const deployment_v1_projected_volume_source *in);
static inline bool deployment_v1_volume_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_projection *out);
static inline const json *deployment_v1_volume_projection_to_json(oarlock_mem *mem, const deployment_v1_volume_projection *in);
static inline bool deployment_v1_cluster_trust_bundle_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_cluster_trust_bundle_projection *out);
static inline const json *deployment_v1_cluster_trust_bundle_projection_to_json(oarlock_mem *mem, const deployment_v1_cluster_trust_bundle_projection *in);
static inline bool deployment_v1_config_map_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_projection *out);
static inline const json *deployment_v1_config_map_projection_to_json(oarlock_mem *mem, const deployment_v1_config_map_projection *in);
static inline bool deployment_v1_downward_api_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_projection *out);
static inline const json *deployment_v1_downward_api_projection_to_json(oarlock_mem *mem, const deployment_v1_downward_api_projection *in);
static inline bool deployment_v1_pod_certificate_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_certificate_projection *out);
static inline const json *deployment_v1_pod_certificate_projection_to_json(oarlock_mem *mem, const deployment_v1_pod_certificate_projection *in);
static inline bool deployment_v1_secret_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_projection *out);
static inline const json *deployment_v1_secret_projection_to_json(oarlock_mem *mem, const deployment_v1_secret_projection *in);
static inline bool deployment_v1_service_account_token_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_service_account_token_projection *out);
static inline const json *deployment_v1_service_account_token_projection_to_json(oarlock_mem *mem, const deployment_v1_service_account_token_projection *in);
static inline bool deployment_v1_quobyte_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_quobyte_volume_source *out);
static inline const json *deployment_v1_quobyte_volume_source_to_json(oarlock_mem *mem, const deployment_v1_quobyte_volume_source *in);
static inline bool deployment_v1_rbd_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_rbd_volume_source *out);
static inline const json *deployment_v1_rbd_volume_source_to_json(oarlock_mem *mem, const deployment_v1_rbd_volume_source *in);
static inline bool deployment_v1_scale_io_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_scale_io_volume_source *out);
static inline const json *deployment_v1_scale_io_volume_source_to_json(oarlock_mem *mem, const deployment_v1_scale_io_volume_source *in);
static inline bool deployment_v1_secret_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_volume_source *out);
static inline const json *deployment_v1_secret_volume_source_to_json(oarlock_mem *mem, const deployment_v1_secret_volume_source *in);
static inline bool deployment_v1_storage_os_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_storage_os_volume_source *out);
static inline const json *deployment_v1_storage_os_volume_source_to_json(oarlock_mem *mem, const deployment_v1_storage_os_volume_source *in);
static inline bool deployment_v1_vsphere_virtual_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_vsphere_virtual_disk_volume_source *out);
static inline const json *deployment_v1_vsphere_virtual_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_vsphere_virtual_disk_volume_source *in);
static inline bool deployment_v1_status_read(deployment_v1_reader *in, const json *value, deployment_v1_status *out);
static inline const json *deployment_v1_status_to_json(oarlock_mem *mem, const deployment_v1_status *in);
static inline bool deployment_v1_condition_read(deployment_v1_reader *in, const json *value, deployment_v1_condition *out);
static inline const json *deployment_v1_condition_to_json(oarlock_mem *mem, const deployment_v1_condition *in);
static inline bool deployment_v1_object_meta2_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta2 *out);
static inline const json *deployment_v1_object_meta2_to_json(oarlock_mem *mem, const deployment_v1_object_meta2 *in);
static inline bool deployment_v1_object_meta_owner_references_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta_owner_references *out);
static inline const json *deployment_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const deployment_v1_object_meta_owner_references *in);
static inline bool deployment_v1_label_selector_requirement_list_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector_requirement_list *out);
static inline const json *deployment_v1_label_selector_requirement_list_to_json(oarlock_mem *mem, const deployment_v1_label_selector_requirement_list *in);
static inline bool deployment_v1_string_map_read(deployment_v1_reader *in, const json *value, deployment_v1_string_map *out);
static inline const json *deployment_v1_string_map_to_json(oarlock_mem *mem, const deployment_v1_string_map *in);
static inline bool deployment_v1_string_list_read(deployment_v1_reader *in, const json *value, deployment_v1_string_list *out);
static inline const json *deployment_v1_string_list_to_json(oarlock_mem *mem, const deployment_v1_string_list *in);
static inline bool deployment_v1_managed_fields_entry_list_read(deployment_v1_reader *in, const json *value, deployment_v1_managed_fields_entry_list *out);
static inline const json *deployment_v1_managed_fields_entry_list_to_json(oarlock_mem *mem, const deployment_v1_managed_fields_entry_list *in);
static inline bool deployment_v1_owner_reference_list_read(deployment_v1_reader *in, const json *value, deployment_v1_owner_reference_list *out);
static inline const json *deployment_v1_owner_reference_list_to_json(oarlock_mem *mem, const deployment_v1_owner_reference_list *in);
static inline bool deployment_v1_value_map_read(deployment_v1_reader *in, const json *value, deployment_v1_value_map *out);
static inline const json *deployment_v1_value_map_to_json(oarlock_mem *mem, const deployment_v1_value_map *in);
static inline bool deployment_v1_container_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_list *out);
static inline const json *deployment_v1_container_list_to_json(oarlock_mem *mem, const deployment_v1_container_list *in);
static inline bool deployment_v1_ephemeral_container_list_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container_list *out);
static inline const json *deployment_v1_ephemeral_container_list_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_container_list *in);
static inline bool deployment_v1_host_alias_list_read(deployment_v1_reader *in, const json *value, deployment_v1_host_alias_list *out);
static inline const json *deployment_v1_host_alias_list_to_json(oarlock_mem *mem, const deployment_v1_host_alias_list *in);
static inline bool deployment_v1_local_object_reference_list_read(deployment_v1_reader *in, const json *value, deployment_v1_local_object_reference_list *out);
static inline const json *deployment_v1_local_object_reference_list_to_json(oarlock_mem *mem, const deployment_v1_local_object_reference_list *in);
static inline bool deployment_v1_int_or_string_map_read(deployment_v1_reader *in, const json *value, deployment_v1_int_or_string_map *out);
static inline const json *deployment_v1_int_or_string_map_to_json(oarlock_mem *mem, const deployment_v1_int_or_string_map *in);
static inline bool deployment_v1_pod_readiness_gate_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_readiness_gate_list *out);
static inline const json *deployment_v1_pod_readiness_gate_list_to_json(oarlock_mem *mem, const deployment_v1_pod_readiness_gate_list *in);
static inline bool deployment_v1_pod_resource_claim_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_resource_claim_list *out);
static inline const json *deployment_v1_pod_resource_claim_list_to_json(oarlock_mem *mem, const deployment_v1_pod_resource_claim_list *in);
static inline bool deployment_v1_pod_scheduling_gate_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_gate_list *out);
static inline const json *deployment_v1_pod_scheduling_gate_list_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_gate_list *in);
static inline bool deployment_v1_toleration_list_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration_list *out);
static inline const json *deployment_v1_toleration_list_to_json(oarlock_mem *mem, const deployment_v1_toleration_list *in);
static inline bool deployment_v1_topology_spread_constraint_list_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint_list *out);
static inline const json *deployment_v1_topology_spread_constraint_list_to_json(oarlock_mem *mem, const deployment_v1_topology_spread_constraint_list *in);
static inline bool deployment_v1_volume_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_list *out);
static inline const json *deployment_v1_volume_list_to_json(oarlock_mem *mem, const deployment_v1_volume_list *in);
static inline bool deployment_v1_preferred_scheduling_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_preferred_scheduling_term_list *out);
static inline const json *deployment_v1_preferred_scheduling_term_list_to_json(oarlock_mem *mem, const deployment_v1_preferred_scheduling_term_list *in);
static inline bool deployment_v1_node_selector_requirement_list_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_requirement_list *out);
static inline const json *deployment_v1_node_selector_requirement_list_to_json(oarlock_mem *mem, const deployment_v1_node_selector_requirement_list *in);
static inline bool deployment_v1_node_selector_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_term_list *out);
static inline const json *deployment_v1_node_selector_term_list_to_json(oarlock_mem *mem, const deployment_v1_node_selector_term_list *in);
static inline bool deployment_v1_weighted_pod_affinity_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_weighted_pod_affinity_term_list *out);
static inline const json *deployment_v1_weighted_pod_affinity_term_list_to_json(oarlock_mem *mem, const deployment_v1_weighted_pod_affinity_term_list *in);
static inline bool deployment_v1_pod_affinity_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity_term_list *out);
static inline const json *deployment_v1_pod_affinity_term_list_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity_term_list *in);
static inline bool deployment_v1_env_var_list_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var_list *out);
static inline const json *deployment_v1_env_var_list_to_json(oarlock_mem *mem, const deployment_v1_env_var_list *in);
static inline bool deployment_v1_env_from_source_list_read(deployment_v1_reader *in, const json *value, deployment_v1_env_from_source_list *out);
static inline const json *deployment_v1_env_from_source_list_to_json(oarlock_mem *mem, const deployment_v1_env_from_source_list *in);
static inline bool deployment_v1_container_port_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_port_list *out);
static inline const json *deployment_v1_container_port_list_to_json(oarlock_mem *mem, const deployment_v1_container_port_list *in);
static inline bool deployment_v1_container_resize_policy_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_resize_policy_list *out);
static inline const json *deployment_v1_container_resize_policy_list_to_json(oarlock_mem *mem, const deployment_v1_container_resize_policy_list *in);
static inline bool deployment_v1_container_restart_rule_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule_list *out);
static inline const json *deployment_v1_container_restart_rule_list_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule_list *in);
static inline bool deployment_v1_volume_device_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_device_list *out);
static inline const json *deployment_v1_volume_device_list_to_json(oarlock_mem *mem, const deployment_v1_volume_device_list *in);
static inline bool deployment_v1_volume_mount_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_mount_list *out);
static inline const json *deployment_v1_volume_mount_list_to_json(oarlock_mem *mem, const deployment_v1_volume_mount_list *in);
static inline bool deployment_v1_http_header_list_read(deployment_v1_reader *in, const json *value, deployment_v1_http_header_list *out);
static inline const json *deployment_v1_http_header_list_to_json(oarlock_mem *mem, const deployment_v1_http_header_list *in);
static inline bool deployment_v1_resource_claim_list_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_claim_list *out);
static inline const json *deployment_v1_resource_claim_list_to_json(oarlock_mem *mem, const deployment_v1_resource_claim_list *in);
static inline bool deployment_v1_int32_list_read(deployment_v1_reader *in, const json *value, deployment_v1_int32_list *out);
static inline const json *deployment_v1_int32_list_to_json(oarlock_mem *mem, const deployment_v1_int32_list *in);
static inline bool deployment_v1_pod_dns_config_option_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config_option_list *out);
static inline const json *deployment_v1_pod_dns_config_option_list_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config_option_list *in);
static inline bool deployment_v1_int64_list_read(deployment_v1_reader *in, const json *value, deployment_v1_int64_list *out);
static inline const json *deployment_v1_int64_list_to_json(oarlock_mem *mem, const deployment_v1_int64_list *in);
static inline bool deployment_v1_sysctl_list_read(deployment_v1_reader *in, const json *value, deployment_v1_sysctl_list *out);
static inline const json *deployment_v1_sysctl_list_to_json(oarlock_mem *mem, const deployment_v1_sysctl_list *in);
static inline bool deployment_v1_key_to_path_list_read(deployment_v1_reader *in, const json *value, deployment_v1_key_to_path_list *out);
static inline const json *deployment_v1_key_to_path_list_to_json(oarlock_mem *mem, const deployment_v1_key_to_path_list *in);
static inline bool deployment_v1_downward_api_volume_file_list_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_file_list *out);
static inline const json *deployment_v1_downward_api_volume_file_list_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_file_list *in);
static inline bool deployment_v1_persistent_volume_claim_spec_access_modes_list_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec_access_modes_list *out);
static inline const json *deployment_v1_persistent_volume_claim_spec_access_modes_list_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_spec_access_modes_list *in);
static inline bool deployment_v1_volume_projection_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_projection_list *out);
static inline const json *deployment_v1_volume_projection_list_to_json(oarlock_mem *mem, const deployment_v1_volume_projection_list *in);
static inline bool deployment_v1_condition_list_read(deployment_v1_reader *in, const json *value, deployment_v1_condition_list *out);
static inline const json *deployment_v1_condition_list_to_json(oarlock_mem *mem, const deployment_v1_condition_list *in);
static inline bool deployment_v1_object_meta_owner_references_list_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta_owner_references_list *out);
static inline const json *deployment_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const deployment_v1_object_meta_owner_references_list *in);

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_strategy_type_text(deployment_v1_strategy_type value) {
    static const char *const texts[] = {NULL, "Recreate", "RollingUpdate"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_strategy_type_read(deployment_v1_reader *in, const json *value, deployment_v1_strategy_type *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_strategy_type)i;
        if (json_is(value, deployment_v1_strategy_type_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_node_selector_requirement_operator_text(deployment_v1_node_selector_requirement_operator value) {
    static const char *const texts[] = {NULL, "DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_node_selector_requirement_operator_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_requirement_operator *out) {
    for (int i = 1; i <= 6; i++) {
        *out = (deployment_v1_node_selector_requirement_operator)i;
        if (json_is(value, deployment_v1_node_selector_requirement_operator_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_container_image_pull_policy_text(deployment_v1_container_image_pull_policy value) {
    static const char *const texts[] = {NULL, "Always", "IfNotPresent", "Never"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_container_image_pull_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_container_image_pull_policy *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_container_image_pull_policy)i;
        if (json_is(value, deployment_v1_container_image_pull_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_http_get_action_scheme_text(deployment_v1_http_get_action_scheme value) {
    static const char *const texts[] = {NULL, "HTTP", "HTTPS"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_http_get_action_scheme_read(deployment_v1_reader *in, const json *value, deployment_v1_http_get_action_scheme *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_http_get_action_scheme)i;
        if (json_is(value, deployment_v1_http_get_action_scheme_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_lifecycle_stop_signal_text(deployment_v1_lifecycle_stop_signal value) {
    static const char *const texts[] = {NULL, "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_lifecycle_stop_signal_read(deployment_v1_reader *in, const json *value, deployment_v1_lifecycle_stop_signal *out) {
    for (int i = 1; i <= 65; i++) {
        *out = (deployment_v1_lifecycle_stop_signal)i;
        if (json_is(value, deployment_v1_lifecycle_stop_signal_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_container_port_protocol_text(deployment_v1_container_port_protocol value) {
    static const char *const texts[] = {NULL, "SCTP", "TCP", "UDP"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_container_port_protocol_read(deployment_v1_reader *in, const json *value, deployment_v1_container_port_protocol *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_container_port_protocol)i;
        if (json_is(value, deployment_v1_container_port_protocol_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_app_armor_profile_type_text(deployment_v1_app_armor_profile_type value) {
    static const char *const texts[] = {NULL, "Localhost", "RuntimeDefault", "Unconfined"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_app_armor_profile_type_read(deployment_v1_reader *in, const json *value, deployment_v1_app_armor_profile_type *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_app_armor_profile_type)i;
        if (json_is(value, deployment_v1_app_armor_profile_type_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_security_context_proc_mount_text(deployment_v1_security_context_proc_mount value) {
    static const char *const texts[] = {NULL, "Default", "Unmasked"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_security_context_proc_mount_read(deployment_v1_reader *in, const json *value, deployment_v1_security_context_proc_mount *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_security_context_proc_mount)i;
        if (json_is(value, deployment_v1_security_context_proc_mount_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_seccomp_profile_type_text(deployment_v1_seccomp_profile_type value) {
    static const char *const texts[] = {NULL, "Localhost", "RuntimeDefault", "Unconfined"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_seccomp_profile_type_read(deployment_v1_reader *in, const json *value, deployment_v1_seccomp_profile_type *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_seccomp_profile_type)i;
        if (json_is(value, deployment_v1_seccomp_profile_type_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_container_termination_message_policy_text(deployment_v1_container_termination_message_policy value) {
    static const char *const texts[] = {NULL, "FallbackToLogsOnError", "File"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_container_termination_message_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_container_termination_message_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_container_termination_message_policy)i;
        if (json_is(value, deployment_v1_container_termination_message_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_volume_mount_mount_propagation_text(deployment_v1_volume_mount_mount_propagation value) {
    static const char *const texts[] = {NULL, "Bidirectional", "HostToContainer", "None"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_volume_mount_mount_propagation_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_mount_mount_propagation *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_volume_mount_mount_propagation)i;
        if (json_is(value, deployment_v1_volume_mount_mount_propagation_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_pod_spec_dns_policy_text(deployment_v1_pod_spec_dns_policy value) {
    static const char *const texts[] = {NULL, "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_pod_spec_dns_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_spec_dns_policy *out) {
    for (int i = 1; i <= 4; i++) {
        *out = (deployment_v1_pod_spec_dns_policy)i;
        if (json_is(value, deployment_v1_pod_spec_dns_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_ephemeral_container_image_pull_policy_text(deployment_v1_ephemeral_container_image_pull_policy value) {
    static const char *const texts[] = {NULL, "Always", "IfNotPresent", "Never"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_ephemeral_container_image_pull_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container_image_pull_policy *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_ephemeral_container_image_pull_policy)i;
        if (json_is(value, deployment_v1_ephemeral_container_image_pull_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_ephemeral_container_termination_message_policy_text(deployment_v1_ephemeral_container_termination_message_policy value) {
    static const char *const texts[] = {NULL, "FallbackToLogsOnError", "File"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_ephemeral_container_termination_message_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container_termination_message_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_ephemeral_container_termination_message_policy)i;
        if (json_is(value, deployment_v1_ephemeral_container_termination_message_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_pod_spec_preemption_policy_text(deployment_v1_pod_spec_preemption_policy value) {
    static const char *const texts[] = {NULL, "Never", "PreemptLowerPriority"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_pod_spec_preemption_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_spec_preemption_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_pod_spec_preemption_policy)i;
        if (json_is(value, deployment_v1_pod_spec_preemption_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_pod_spec_restart_policy_text(deployment_v1_pod_spec_restart_policy value) {
    static const char *const texts[] = {NULL, "Always", "Never", "OnFailure"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_pod_spec_restart_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_spec_restart_policy *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_pod_spec_restart_policy)i;
        if (json_is(value, deployment_v1_pod_spec_restart_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_pod_security_context_fs_group_change_policy_text(deployment_v1_pod_security_context_fs_group_change_policy value) {
    static const char *const texts[] = {NULL, "Always", "OnRootMismatch"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_pod_security_context_fs_group_change_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_security_context_fs_group_change_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_pod_security_context_fs_group_change_policy)i;
        if (json_is(value, deployment_v1_pod_security_context_fs_group_change_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_pod_security_context_supplemental_groups_policy_text(deployment_v1_pod_security_context_supplemental_groups_policy value) {
    static const char *const texts[] = {NULL, "Merge", "Strict"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_pod_security_context_supplemental_groups_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_security_context_supplemental_groups_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_pod_security_context_supplemental_groups_policy)i;
        if (json_is(value, deployment_v1_pod_security_context_supplemental_groups_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_toleration_effect_text(deployment_v1_toleration_effect value) {
    static const char *const texts[] = {NULL, "NoExecute", "NoSchedule", "PreferNoSchedule"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_toleration_effect_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration_effect *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_toleration_effect)i;
        if (json_is(value, deployment_v1_toleration_effect_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_toleration_operator_text(deployment_v1_toleration_operator value) {
    static const char *const texts[] = {NULL, "Equal", "Exists", "Gt", "Lt"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_toleration_operator_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration_operator *out) {
    for (int i = 1; i <= 4; i++) {
        *out = (deployment_v1_toleration_operator)i;
        if (json_is(value, deployment_v1_toleration_operator_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_topology_spread_constraint_node_affinity_policy_text(deployment_v1_topology_spread_constraint_node_affinity_policy value) {
    static const char *const texts[] = {NULL, "Honor", "Ignore"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_topology_spread_constraint_node_affinity_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint_node_affinity_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_topology_spread_constraint_node_affinity_policy)i;
        if (json_is(value, deployment_v1_topology_spread_constraint_node_affinity_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_topology_spread_constraint_node_taints_policy_text(deployment_v1_topology_spread_constraint_node_taints_policy value) {
    static const char *const texts[] = {NULL, "Honor", "Ignore"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_topology_spread_constraint_node_taints_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint_node_taints_policy *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_topology_spread_constraint_node_taints_policy)i;
        if (json_is(value, deployment_v1_topology_spread_constraint_node_taints_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_topology_spread_constraint_when_unsatisfiable_text(deployment_v1_topology_spread_constraint_when_unsatisfiable value) {
    static const char *const texts[] = {NULL, "DoNotSchedule", "ScheduleAnyway"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_topology_spread_constraint_when_unsatisfiable_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint_when_unsatisfiable *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_topology_spread_constraint_when_unsatisfiable)i;
        if (json_is(value, deployment_v1_topology_spread_constraint_when_unsatisfiable_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_azure_disk_volume_source_caching_mode_text(deployment_v1_azure_disk_volume_source_caching_mode value) {
    static const char *const texts[] = {NULL, "None", "ReadOnly", "ReadWrite"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_azure_disk_volume_source_caching_mode_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_disk_volume_source_caching_mode *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_azure_disk_volume_source_caching_mode)i;
        if (json_is(value, deployment_v1_azure_disk_volume_source_caching_mode_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_azure_disk_volume_source_kind_text(deployment_v1_azure_disk_volume_source_kind value) {
    static const char *const texts[] = {NULL, "Dedicated", "Managed", "Shared"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_azure_disk_volume_source_kind_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_disk_volume_source_kind *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_azure_disk_volume_source_kind)i;
        if (json_is(value, deployment_v1_azure_disk_volume_source_kind_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_persistent_volume_claim_spec_access_modes_text(deployment_v1_persistent_volume_claim_spec_access_modes value) {
    static const char *const texts[] = {NULL, "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_persistent_volume_claim_spec_access_modes_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec_access_modes *out) {
    for (int i = 1; i <= 4; i++) {
        *out = (deployment_v1_persistent_volume_claim_spec_access_modes)i;
        if (json_is(value, deployment_v1_persistent_volume_claim_spec_access_modes_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_persistent_volume_claim_spec_volume_mode_text(deployment_v1_persistent_volume_claim_spec_volume_mode value) {
    static const char *const texts[] = {NULL, "Block", "Filesystem"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_persistent_volume_claim_spec_volume_mode_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec_volume_mode *out) {
    for (int i = 1; i <= 2; i++) {
        *out = (deployment_v1_persistent_volume_claim_spec_volume_mode)i;
        if (json_is(value, deployment_v1_persistent_volume_claim_spec_volume_mode_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_host_path_volume_source_type_text(deployment_v1_host_path_volume_source_type value) {
    static const char *const texts[] = {NULL, "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_host_path_volume_source_type_read(deployment_v1_reader *in, const json *value, deployment_v1_host_path_volume_source_type *out) {
    for (int i = 1; i <= 8; i++) {
        *out = (deployment_v1_host_path_volume_source_type)i;
        if (json_is(value, deployment_v1_host_path_volume_source_type_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

/* The text of a value; NULL of 0. */
static inline const char *deployment_v1_image_volume_source_pull_policy_text(deployment_v1_image_volume_source_pull_policy value) {
    static const char *const texts[] = {NULL, "Always", "IfNotPresent", "Never"};
    return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : NULL;
}

static inline bool deployment_v1_image_volume_source_pull_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_image_volume_source_pull_policy *out) {
    for (int i = 1; i <= 3; i++) {
        *out = (deployment_v1_image_volume_source_pull_policy)i;
        if (json_is(value, deployment_v1_image_volume_source_pull_policy_text(*out))) return true;
    }
    return deployment_v1_wrong(in, "a value that the schema has");
}

static inline bool deployment_v1_label_selector_requirement_list_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector_requirement_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_label_selector_requirement_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_label_selector_requirement_list_to_json(oarlock_mem *mem, const deployment_v1_label_selector_requirement_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_label_selector_requirement_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_string_map_read(deployment_v1_reader *in, const json *value, deployment_v1_string_map *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!deployment_v1_string_read(in, value, &out->items[i].value)) return deployment_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *deployment_v1_string_map_to_json(oarlock_mem *mem, const deployment_v1_string_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i].value);
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool deployment_v1_string_list_read(deployment_v1_reader *in, const json *value, deployment_v1_string_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_string_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_string_list_to_json(oarlock_mem *mem, const deployment_v1_string_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_managed_fields_entry_list_read(deployment_v1_reader *in, const json *value, deployment_v1_managed_fields_entry_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_managed_fields_entry_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_managed_fields_entry_list_to_json(oarlock_mem *mem, const deployment_v1_managed_fields_entry_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_managed_fields_entry_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_owner_reference_list_read(deployment_v1_reader *in, const json *value, deployment_v1_owner_reference_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_owner_reference_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_owner_reference_list_to_json(oarlock_mem *mem, const deployment_v1_owner_reference_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_owner_reference_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_value_map_read(deployment_v1_reader *in, const json *value, deployment_v1_value_map *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!(out->items[i].value = value, true)) return deployment_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *deployment_v1_value_map_to_json(oarlock_mem *mem, const deployment_v1_value_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = in->items[i].value;
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool deployment_v1_container_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_container_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_container_list_to_json(oarlock_mem *mem, const deployment_v1_container_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_container_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_ephemeral_container_list_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_ephemeral_container_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_ephemeral_container_list_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_container_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_ephemeral_container_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_host_alias_list_read(deployment_v1_reader *in, const json *value, deployment_v1_host_alias_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_host_alias_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_host_alias_list_to_json(oarlock_mem *mem, const deployment_v1_host_alias_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_host_alias_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_local_object_reference_list_read(deployment_v1_reader *in, const json *value, deployment_v1_local_object_reference_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_local_object_reference_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_local_object_reference_list_to_json(oarlock_mem *mem, const deployment_v1_local_object_reference_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_local_object_reference_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_int_or_string_map_read(deployment_v1_reader *in, const json *value, deployment_v1_int_or_string_map *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        out->items[i].key = json_name(all, i);
        if (!deployment_v1_int_or_string_read(in, value, &out->items[i].value)) return deployment_v1_in_field(in, out->items[i].key);
    }
    return true;
}

static inline const json *deployment_v1_int_or_string_map_to_json(oarlock_mem *mem, const deployment_v1_int_or_string_map *in) {
    json *out = json_new_object(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_int_or_string_write(mem, &in->items[i].value);
        json_set(out, in->items[i].key, value ? value : json_new_null(mem));
    }
    return out;
}

static inline bool deployment_v1_pod_readiness_gate_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_readiness_gate_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_pod_readiness_gate_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_pod_readiness_gate_list_to_json(oarlock_mem *mem, const deployment_v1_pod_readiness_gate_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_pod_readiness_gate_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_pod_resource_claim_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_resource_claim_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_pod_resource_claim_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_pod_resource_claim_list_to_json(oarlock_mem *mem, const deployment_v1_pod_resource_claim_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_pod_resource_claim_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_pod_scheduling_gate_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_gate_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_pod_scheduling_gate_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_pod_scheduling_gate_list_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_gate_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_pod_scheduling_gate_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_toleration_list_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_toleration_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_toleration_list_to_json(oarlock_mem *mem, const deployment_v1_toleration_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_toleration_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_topology_spread_constraint_list_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_topology_spread_constraint_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_topology_spread_constraint_list_to_json(oarlock_mem *mem, const deployment_v1_topology_spread_constraint_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_topology_spread_constraint_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_volume_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_volume_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_volume_list_to_json(oarlock_mem *mem, const deployment_v1_volume_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_volume_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_preferred_scheduling_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_preferred_scheduling_term_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_preferred_scheduling_term_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_preferred_scheduling_term_list_to_json(oarlock_mem *mem, const deployment_v1_preferred_scheduling_term_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_preferred_scheduling_term_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_node_selector_requirement_list_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_requirement_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_node_selector_requirement_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_node_selector_requirement_list_to_json(oarlock_mem *mem, const deployment_v1_node_selector_requirement_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_node_selector_requirement_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_node_selector_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_term_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_node_selector_term_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_node_selector_term_list_to_json(oarlock_mem *mem, const deployment_v1_node_selector_term_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_node_selector_term_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_weighted_pod_affinity_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_weighted_pod_affinity_term_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_weighted_pod_affinity_term_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_weighted_pod_affinity_term_list_to_json(oarlock_mem *mem, const deployment_v1_weighted_pod_affinity_term_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_weighted_pod_affinity_term_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_pod_affinity_term_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity_term_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_pod_affinity_term_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_pod_affinity_term_list_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity_term_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_pod_affinity_term_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_env_var_list_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_env_var_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_env_var_list_to_json(oarlock_mem *mem, const deployment_v1_env_var_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_env_var_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_env_from_source_list_read(deployment_v1_reader *in, const json *value, deployment_v1_env_from_source_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_env_from_source_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_env_from_source_list_to_json(oarlock_mem *mem, const deployment_v1_env_from_source_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_env_from_source_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_container_port_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_port_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_container_port_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_container_port_list_to_json(oarlock_mem *mem, const deployment_v1_container_port_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_container_port_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_container_resize_policy_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_resize_policy_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_container_resize_policy_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_container_resize_policy_list_to_json(oarlock_mem *mem, const deployment_v1_container_resize_policy_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_container_resize_policy_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_container_restart_rule_list_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_container_restart_rule_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_container_restart_rule_list_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_container_restart_rule_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_volume_device_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_device_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_volume_device_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_volume_device_list_to_json(oarlock_mem *mem, const deployment_v1_volume_device_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_volume_device_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_volume_mount_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_mount_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_volume_mount_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_volume_mount_list_to_json(oarlock_mem *mem, const deployment_v1_volume_mount_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_volume_mount_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_http_header_list_read(deployment_v1_reader *in, const json *value, deployment_v1_http_header_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_http_header_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_http_header_list_to_json(oarlock_mem *mem, const deployment_v1_http_header_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_http_header_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_resource_claim_list_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_claim_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_resource_claim_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_resource_claim_list_to_json(oarlock_mem *mem, const deployment_v1_resource_claim_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_resource_claim_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_int32_list_read(deployment_v1_reader *in, const json *value, deployment_v1_int32_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_int32_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_int32_list_to_json(oarlock_mem *mem, const deployment_v1_int32_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_int(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_pod_dns_config_option_list_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config_option_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_pod_dns_config_option_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_pod_dns_config_option_list_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config_option_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_pod_dns_config_option_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_int64_list_read(deployment_v1_reader *in, const json *value, deployment_v1_int64_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_int64_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_int64_list_to_json(oarlock_mem *mem, const deployment_v1_int64_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_int(mem, in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_sysctl_list_read(deployment_v1_reader *in, const json *value, deployment_v1_sysctl_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_sysctl_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_sysctl_list_to_json(oarlock_mem *mem, const deployment_v1_sysctl_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_sysctl_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_key_to_path_list_read(deployment_v1_reader *in, const json *value, deployment_v1_key_to_path_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_key_to_path_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_key_to_path_list_to_json(oarlock_mem *mem, const deployment_v1_key_to_path_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_key_to_path_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_downward_api_volume_file_list_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_file_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_downward_api_volume_file_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_downward_api_volume_file_list_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_file_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_downward_api_volume_file_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_persistent_volume_claim_spec_access_modes_list_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec_access_modes_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_persistent_volume_claim_spec_access_modes_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_persistent_volume_claim_spec_access_modes_list_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_spec_access_modes_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = json_new_text(mem, deployment_v1_persistent_volume_claim_spec_access_modes_text(in->items[i]));
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_volume_projection_list_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_projection_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_volume_projection_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_volume_projection_list_to_json(oarlock_mem *mem, const deployment_v1_volume_projection_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_volume_projection_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_condition_list_read(deployment_v1_reader *in, const json *value, deployment_v1_condition_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_condition_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_condition_list_to_json(oarlock_mem *mem, const deployment_v1_condition_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_condition_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_object_meta_owner_references_list_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta_owner_references_list *out) {
    if (!deployment_v1_is(in, value, JSON_ARRAY, "a list")) return false;
    const json *all = value;
    out->count = json_count(all);
    out->items = oarlock_alloc(in->mem, (out->count + 1) * sizeof *out->items);
    for (size_t i = 0; i < out->count; i++) {
        value = json_at(all, i);
        if (!deployment_v1_object_meta_owner_references_read(in, value, &out->items[i])) return deployment_v1_in_list(in, i);
    }
    return true;
}

static inline const json *deployment_v1_object_meta_owner_references_list_to_json(oarlock_mem *mem, const deployment_v1_object_meta_owner_references_list *in) {
    json *out = json_new_array(mem);
    for (size_t i = 0; i < in->count; i++) {
        const json *value = deployment_v1_object_meta_owner_references_to_json(mem, &in->items[i]);
        json_append(out, value);
    }
    return out;
}

static inline bool deployment_v1_read(deployment_v1_reader *in, const json *value, deployment_v1 *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!deployment_v1_string_read(in, value, &out->api_version)) return deployment_v1_in_field(in, "apiVersion");
    value = json_get(object, "kind");
    if (!deployment_v1_string_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "metadata");
    if (!(out->metadata = oarlock_alloc(in->mem, sizeof *out->metadata), deployment_v1_object_meta2_read(in, value, out->metadata))) return deployment_v1_in_field(in, "metadata");
    value = json_get(object, "spec");
    if (deployment_v1_has(value) && !(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), deployment_v1_spec_read(in, value, out->spec))) return deployment_v1_in_field(in, "spec");
    value = json_get(object, "status");
    if (deployment_v1_has(value) && !(out->status = oarlock_alloc(in->mem, sizeof *out->status), deployment_v1_status_read(in, value, out->status))) return deployment_v1_in_field(in, "status");
    return true;
}

static inline const json *deployment_v1_to_json(oarlock_mem *mem, const deployment_v1 *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version ? in->api_version : "apps/v1"));
    json_set(out, "kind", json_new_text(mem, in->kind ? in->kind : "Deployment"));
    json_set(out, "metadata", in->metadata ? deployment_v1_object_meta2_to_json(mem, in->metadata) : json_new_null(mem));
    if (in->spec) json_set(out, "spec", deployment_v1_spec_to_json(mem, in->spec));
    if (in->status) json_set(out, "status", deployment_v1_status_to_json(mem, in->status));
    return out;
}

static inline bool deployment_v1_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_spec *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "minReadySeconds");
    if (deployment_v1_has(value) && !(out->min_ready_seconds = oarlock_alloc(in->mem, sizeof *out->min_ready_seconds), deployment_v1_int32_read(in, value, out->min_ready_seconds))) return deployment_v1_in_field(in, "minReadySeconds");
    value = json_get(object, "paused");
    if (deployment_v1_has(value) && !(out->paused = oarlock_alloc(in->mem, sizeof *out->paused), deployment_v1_bool_read(in, value, out->paused))) return deployment_v1_in_field(in, "paused");
    value = json_get(object, "progressDeadlineSeconds");
    if (deployment_v1_has(value) && !(out->progress_deadline_seconds = oarlock_alloc(in->mem, sizeof *out->progress_deadline_seconds), deployment_v1_int32_read(in, value, out->progress_deadline_seconds))) return deployment_v1_in_field(in, "progressDeadlineSeconds");
    value = json_get(object, "replicas");
    if (deployment_v1_has(value) && !(out->replicas = oarlock_alloc(in->mem, sizeof *out->replicas), deployment_v1_int32_read(in, value, out->replicas))) return deployment_v1_in_field(in, "replicas");
    value = json_get(object, "revisionHistoryLimit");
    if (deployment_v1_has(value) && !(out->revision_history_limit = oarlock_alloc(in->mem, sizeof *out->revision_history_limit), deployment_v1_int32_read(in, value, out->revision_history_limit))) return deployment_v1_in_field(in, "revisionHistoryLimit");
    value = json_get(object, "selector");
    if (!(out->selector = oarlock_alloc(in->mem, sizeof *out->selector), deployment_v1_label_selector_read(in, value, out->selector))) return deployment_v1_in_field(in, "selector");
    value = json_get(object, "strategy");
    if (deployment_v1_has(value) && !(out->strategy = oarlock_alloc(in->mem, sizeof *out->strategy), deployment_v1_strategy_read(in, value, out->strategy))) return deployment_v1_in_field(in, "strategy");
    value = json_get(object, "template");
    if (!(out->template_ = oarlock_alloc(in->mem, sizeof *out->template_), deployment_v1_pod_template_spec_read(in, value, out->template_))) return deployment_v1_in_field(in, "template");
    return true;
}

static inline const json *deployment_v1_spec_to_json(oarlock_mem *mem, const deployment_v1_spec *in) {
    json *out = json_new_object(mem);
    if (in->min_ready_seconds) json_set(out, "minReadySeconds", json_new_int(mem, *in->min_ready_seconds));
    if (in->paused) json_set(out, "paused", json_new_bool(mem, *in->paused));
    if (in->progress_deadline_seconds) json_set(out, "progressDeadlineSeconds", json_new_int(mem, *in->progress_deadline_seconds));
    if (in->replicas) json_set(out, "replicas", json_new_int(mem, *in->replicas));
    if (in->revision_history_limit) json_set(out, "revisionHistoryLimit", json_new_int(mem, *in->revision_history_limit));
    json_set(out, "selector", in->selector ? deployment_v1_label_selector_to_json(mem, in->selector) : json_new_null(mem));
    if (in->strategy) json_set(out, "strategy", deployment_v1_strategy_to_json(mem, in->strategy));
    json_set(out, "template", in->template_ ? deployment_v1_pod_template_spec_to_json(mem, in->template_) : json_new_null(mem));
    return out;
}

static inline bool deployment_v1_label_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "matchExpressions");
    if (deployment_v1_has(value) && !deployment_v1_label_selector_requirement_list_read(in, value, &out->match_expressions)) return deployment_v1_in_field(in, "matchExpressions");
    value = json_get(object, "matchLabels");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->match_labels)) return deployment_v1_in_field(in, "matchLabels");
    return true;
}

static inline const json *deployment_v1_label_selector_to_json(oarlock_mem *mem, const deployment_v1_label_selector *in) {
    json *out = json_new_object(mem);
    if (in->match_expressions.items) json_set(out, "matchExpressions", deployment_v1_label_selector_requirement_list_to_json(mem, &in->match_expressions));
    if (in->match_labels.items) json_set(out, "matchLabels", deployment_v1_string_map_to_json(mem, &in->match_labels));
    return out;
}

static inline bool deployment_v1_label_selector_requirement_read(deployment_v1_reader *in, const json *value, deployment_v1_label_selector_requirement *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "operator");
    if (!deployment_v1_string_read(in, value, &out->operator_)) return deployment_v1_in_field(in, "operator");
    value = json_get(object, "values");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->values)) return deployment_v1_in_field(in, "values");
    return true;
}

static inline const json *deployment_v1_label_selector_requirement_to_json(oarlock_mem *mem, const deployment_v1_label_selector_requirement *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    json_set(out, "operator", json_new_text(mem, in->operator_));
    if (in->values.items) json_set(out, "values", deployment_v1_string_list_to_json(mem, &in->values));
    return out;
}

static inline bool deployment_v1_strategy_read(deployment_v1_reader *in, const json *value, deployment_v1_strategy *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "rollingUpdate");
    if (deployment_v1_has(value) && !(out->rolling_update = oarlock_alloc(in->mem, sizeof *out->rolling_update), deployment_v1_rolling_update_deployment_read(in, value, out->rolling_update))) return deployment_v1_in_field(in, "rollingUpdate");
    value = json_get(object, "type");
    if (deployment_v1_has(value) && !deployment_v1_strategy_type_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    return true;
}

static inline const json *deployment_v1_strategy_to_json(oarlock_mem *mem, const deployment_v1_strategy *in) {
    json *out = json_new_object(mem);
    if (in->rolling_update) json_set(out, "rollingUpdate", deployment_v1_rolling_update_deployment_to_json(mem, in->rolling_update));
    if (in->type) json_set(out, "type", json_new_text(mem, deployment_v1_strategy_type_text(in->type)));
    return out;
}

static inline bool deployment_v1_rolling_update_deployment_read(deployment_v1_reader *in, const json *value, deployment_v1_rolling_update_deployment *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "maxSurge");
    if (deployment_v1_has(value) && !(out->max_surge = oarlock_alloc(in->mem, sizeof *out->max_surge), deployment_v1_int_or_string_read(in, value, out->max_surge))) return deployment_v1_in_field(in, "maxSurge");
    value = json_get(object, "maxUnavailable");
    if (deployment_v1_has(value) && !(out->max_unavailable = oarlock_alloc(in->mem, sizeof *out->max_unavailable), deployment_v1_int_or_string_read(in, value, out->max_unavailable))) return deployment_v1_in_field(in, "maxUnavailable");
    return true;
}

static inline const json *deployment_v1_rolling_update_deployment_to_json(oarlock_mem *mem, const deployment_v1_rolling_update_deployment *in) {
    json *out = json_new_object(mem);
    if (in->max_surge) json_set(out, "maxSurge", deployment_v1_int_or_string_write(mem, in->max_surge));
    if (in->max_unavailable) json_set(out, "maxUnavailable", deployment_v1_int_or_string_write(mem, in->max_unavailable));
    return out;
}

static inline bool deployment_v1_pod_template_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_template_spec *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "metadata");
    if (deployment_v1_has(value) && !(out->metadata = oarlock_alloc(in->mem, sizeof *out->metadata), deployment_v1_object_meta_read(in, value, out->metadata))) return deployment_v1_in_field(in, "metadata");
    value = json_get(object, "spec");
    if (deployment_v1_has(value) && !(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), deployment_v1_pod_spec_read(in, value, out->spec))) return deployment_v1_in_field(in, "spec");
    return true;
}

static inline const json *deployment_v1_pod_template_spec_to_json(oarlock_mem *mem, const deployment_v1_pod_template_spec *in) {
    json *out = json_new_object(mem);
    if (in->metadata) json_set(out, "metadata", deployment_v1_object_meta_to_json(mem, in->metadata));
    if (in->spec) json_set(out, "spec", deployment_v1_pod_spec_to_json(mem, in->spec));
    return out;
}

static inline bool deployment_v1_object_meta_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "annotations");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->annotations)) return deployment_v1_in_field(in, "annotations");
    value = json_get(object, "creationTimestamp");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->creation_timestamp)) return deployment_v1_in_field(in, "creationTimestamp");
    value = json_get(object, "deletionGracePeriodSeconds");
    if (deployment_v1_has(value) && !(out->deletion_grace_period_seconds = oarlock_alloc(in->mem, sizeof *out->deletion_grace_period_seconds), deployment_v1_int64_read(in, value, out->deletion_grace_period_seconds))) return deployment_v1_in_field(in, "deletionGracePeriodSeconds");
    value = json_get(object, "deletionTimestamp");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->deletion_timestamp)) return deployment_v1_in_field(in, "deletionTimestamp");
    value = json_get(object, "finalizers");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->finalizers)) return deployment_v1_in_field(in, "finalizers");
    value = json_get(object, "generateName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->generate_name)) return deployment_v1_in_field(in, "generateName");
    value = json_get(object, "generation");
    if (deployment_v1_has(value) && !(out->generation = oarlock_alloc(in->mem, sizeof *out->generation), deployment_v1_int64_read(in, value, out->generation))) return deployment_v1_in_field(in, "generation");
    value = json_get(object, "labels");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->labels)) return deployment_v1_in_field(in, "labels");
    value = json_get(object, "managedFields");
    if (deployment_v1_has(value) && !deployment_v1_managed_fields_entry_list_read(in, value, &out->managed_fields)) return deployment_v1_in_field(in, "managedFields");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "namespace");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->namespace_)) return deployment_v1_in_field(in, "namespace");
    value = json_get(object, "ownerReferences");
    if (deployment_v1_has(value) && !deployment_v1_owner_reference_list_read(in, value, &out->owner_references)) return deployment_v1_in_field(in, "ownerReferences");
    value = json_get(object, "resourceVersion");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->resource_version)) return deployment_v1_in_field(in, "resourceVersion");
    value = json_get(object, "selfLink");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->self_link)) return deployment_v1_in_field(in, "selfLink");
    value = json_get(object, "uid");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->uid)) return deployment_v1_in_field(in, "uid");
    return true;
}

static inline const json *deployment_v1_object_meta_to_json(oarlock_mem *mem, const deployment_v1_object_meta *in) {
    json *out = json_new_object(mem);
    if (in->annotations.items) json_set(out, "annotations", deployment_v1_string_map_to_json(mem, &in->annotations));
    if (in->creation_timestamp) json_set(out, "creationTimestamp", json_new_text(mem, in->creation_timestamp));
    if (in->deletion_grace_period_seconds) json_set(out, "deletionGracePeriodSeconds", json_new_int(mem, *in->deletion_grace_period_seconds));
    if (in->deletion_timestamp) json_set(out, "deletionTimestamp", json_new_text(mem, in->deletion_timestamp));
    if (in->finalizers.items) json_set(out, "finalizers", deployment_v1_string_list_to_json(mem, &in->finalizers));
    if (in->generate_name) json_set(out, "generateName", json_new_text(mem, in->generate_name));
    if (in->generation) json_set(out, "generation", json_new_int(mem, *in->generation));
    if (in->labels.items) json_set(out, "labels", deployment_v1_string_map_to_json(mem, &in->labels));
    if (in->managed_fields.items) json_set(out, "managedFields", deployment_v1_managed_fields_entry_list_to_json(mem, &in->managed_fields));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->namespace_) json_set(out, "namespace", json_new_text(mem, in->namespace_));
    if (in->owner_references.items) json_set(out, "ownerReferences", deployment_v1_owner_reference_list_to_json(mem, &in->owner_references));
    if (in->resource_version) json_set(out, "resourceVersion", json_new_text(mem, in->resource_version));
    if (in->self_link) json_set(out, "selfLink", json_new_text(mem, in->self_link));
    if (in->uid) json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

static inline bool deployment_v1_managed_fields_entry_read(deployment_v1_reader *in, const json *value, deployment_v1_managed_fields_entry *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->api_version)) return deployment_v1_in_field(in, "apiVersion");
    value = json_get(object, "fieldsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fields_type)) return deployment_v1_in_field(in, "fieldsType");
    value = json_get(object, "fieldsV1");
    if (deployment_v1_has(value) && !deployment_v1_value_map_read(in, value, &out->fields_v1)) return deployment_v1_in_field(in, "fieldsV1");
    value = json_get(object, "manager");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->manager)) return deployment_v1_in_field(in, "manager");
    value = json_get(object, "operation");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->operation)) return deployment_v1_in_field(in, "operation");
    value = json_get(object, "subresource");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->subresource)) return deployment_v1_in_field(in, "subresource");
    value = json_get(object, "time");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->time)) return deployment_v1_in_field(in, "time");
    return true;
}

static inline const json *deployment_v1_managed_fields_entry_to_json(oarlock_mem *mem, const deployment_v1_managed_fields_entry *in) {
    json *out = json_new_object(mem);
    if (in->api_version) json_set(out, "apiVersion", json_new_text(mem, in->api_version));
    if (in->fields_type) json_set(out, "fieldsType", json_new_text(mem, in->fields_type));
    if (in->fields_v1.items) json_set(out, "fieldsV1", deployment_v1_value_map_to_json(mem, &in->fields_v1));
    if (in->manager) json_set(out, "manager", json_new_text(mem, in->manager));
    if (in->operation) json_set(out, "operation", json_new_text(mem, in->operation));
    if (in->subresource) json_set(out, "subresource", json_new_text(mem, in->subresource));
    if (in->time) json_set(out, "time", json_new_text(mem, in->time));
    return out;
}

static inline bool deployment_v1_owner_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_owner_reference *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!deployment_v1_string_read(in, value, &out->api_version)) return deployment_v1_in_field(in, "apiVersion");
    value = json_get(object, "blockOwnerDeletion");
    if (deployment_v1_has(value) && !(out->block_owner_deletion = oarlock_alloc(in->mem, sizeof *out->block_owner_deletion), deployment_v1_bool_read(in, value, out->block_owner_deletion))) return deployment_v1_in_field(in, "blockOwnerDeletion");
    value = json_get(object, "controller");
    if (deployment_v1_has(value) && !(out->controller = oarlock_alloc(in->mem, sizeof *out->controller), deployment_v1_bool_read(in, value, out->controller))) return deployment_v1_in_field(in, "controller");
    value = json_get(object, "kind");
    if (!deployment_v1_string_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "uid");
    if (!deployment_v1_string_read(in, value, &out->uid)) return deployment_v1_in_field(in, "uid");
    return true;
}

static inline const json *deployment_v1_owner_reference_to_json(oarlock_mem *mem, const deployment_v1_owner_reference *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version));
    if (in->block_owner_deletion) json_set(out, "blockOwnerDeletion", json_new_bool(mem, *in->block_owner_deletion));
    if (in->controller) json_set(out, "controller", json_new_bool(mem, *in->controller));
    json_set(out, "kind", json_new_text(mem, in->kind));
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

static inline bool deployment_v1_pod_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_spec *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "activeDeadlineSeconds");
    if (deployment_v1_has(value) && !(out->active_deadline_seconds = oarlock_alloc(in->mem, sizeof *out->active_deadline_seconds), deployment_v1_int64_read(in, value, out->active_deadline_seconds))) return deployment_v1_in_field(in, "activeDeadlineSeconds");
    value = json_get(object, "affinity");
    if (deployment_v1_has(value) && !(out->affinity = oarlock_alloc(in->mem, sizeof *out->affinity), deployment_v1_affinity_read(in, value, out->affinity))) return deployment_v1_in_field(in, "affinity");
    value = json_get(object, "automountServiceAccountToken");
    if (deployment_v1_has(value) && !(out->automount_service_account_token = oarlock_alloc(in->mem, sizeof *out->automount_service_account_token), deployment_v1_bool_read(in, value, out->automount_service_account_token))) return deployment_v1_in_field(in, "automountServiceAccountToken");
    value = json_get(object, "containers");
    if (!deployment_v1_is_null(value) && !deployment_v1_container_list_read(in, value, &out->containers)) return deployment_v1_in_field(in, "containers");
    value = json_get(object, "dnsConfig");
    if (deployment_v1_has(value) && !(out->dns_config = oarlock_alloc(in->mem, sizeof *out->dns_config), deployment_v1_pod_dns_config_read(in, value, out->dns_config))) return deployment_v1_in_field(in, "dnsConfig");
    value = json_get(object, "dnsPolicy");
    if (deployment_v1_has(value) && !deployment_v1_pod_spec_dns_policy_read(in, value, &out->dns_policy)) return deployment_v1_in_field(in, "dnsPolicy");
    value = json_get(object, "enableServiceLinks");
    if (deployment_v1_has(value) && !(out->enable_service_links = oarlock_alloc(in->mem, sizeof *out->enable_service_links), deployment_v1_bool_read(in, value, out->enable_service_links))) return deployment_v1_in_field(in, "enableServiceLinks");
    value = json_get(object, "ephemeralContainers");
    if (deployment_v1_has(value) && !deployment_v1_ephemeral_container_list_read(in, value, &out->ephemeral_containers)) return deployment_v1_in_field(in, "ephemeralContainers");
    value = json_get(object, "hostAliases");
    if (deployment_v1_has(value) && !deployment_v1_host_alias_list_read(in, value, &out->host_aliases)) return deployment_v1_in_field(in, "hostAliases");
    value = json_get(object, "hostIPC");
    if (deployment_v1_has(value) && !(out->host_ipc = oarlock_alloc(in->mem, sizeof *out->host_ipc), deployment_v1_bool_read(in, value, out->host_ipc))) return deployment_v1_in_field(in, "hostIPC");
    value = json_get(object, "hostNetwork");
    if (deployment_v1_has(value) && !(out->host_network = oarlock_alloc(in->mem, sizeof *out->host_network), deployment_v1_bool_read(in, value, out->host_network))) return deployment_v1_in_field(in, "hostNetwork");
    value = json_get(object, "hostPID");
    if (deployment_v1_has(value) && !(out->host_pid = oarlock_alloc(in->mem, sizeof *out->host_pid), deployment_v1_bool_read(in, value, out->host_pid))) return deployment_v1_in_field(in, "hostPID");
    value = json_get(object, "hostUsers");
    if (deployment_v1_has(value) && !(out->host_users = oarlock_alloc(in->mem, sizeof *out->host_users), deployment_v1_bool_read(in, value, out->host_users))) return deployment_v1_in_field(in, "hostUsers");
    value = json_get(object, "hostname");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->hostname)) return deployment_v1_in_field(in, "hostname");
    value = json_get(object, "hostnameOverride");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->hostname_override)) return deployment_v1_in_field(in, "hostnameOverride");
    value = json_get(object, "imagePullSecrets");
    if (deployment_v1_has(value) && !deployment_v1_local_object_reference_list_read(in, value, &out->image_pull_secrets)) return deployment_v1_in_field(in, "imagePullSecrets");
    value = json_get(object, "initContainers");
    if (deployment_v1_has(value) && !deployment_v1_container_list_read(in, value, &out->init_containers)) return deployment_v1_in_field(in, "initContainers");
    value = json_get(object, "nodeName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->node_name)) return deployment_v1_in_field(in, "nodeName");
    value = json_get(object, "nodeSelector");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->node_selector)) return deployment_v1_in_field(in, "nodeSelector");
    value = json_get(object, "os");
    if (deployment_v1_has(value) && !(out->os = oarlock_alloc(in->mem, sizeof *out->os), deployment_v1_pod_os_read(in, value, out->os))) return deployment_v1_in_field(in, "os");
    value = json_get(object, "overhead");
    if (deployment_v1_has(value) && !deployment_v1_int_or_string_map_read(in, value, &out->overhead)) return deployment_v1_in_field(in, "overhead");
    value = json_get(object, "preemptionPolicy");
    if (deployment_v1_has(value) && !deployment_v1_pod_spec_preemption_policy_read(in, value, &out->preemption_policy)) return deployment_v1_in_field(in, "preemptionPolicy");
    value = json_get(object, "priority");
    if (deployment_v1_has(value) && !(out->priority = oarlock_alloc(in->mem, sizeof *out->priority), deployment_v1_int32_read(in, value, out->priority))) return deployment_v1_in_field(in, "priority");
    value = json_get(object, "priorityClassName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->priority_class_name)) return deployment_v1_in_field(in, "priorityClassName");
    value = json_get(object, "readinessGates");
    if (deployment_v1_has(value) && !deployment_v1_pod_readiness_gate_list_read(in, value, &out->readiness_gates)) return deployment_v1_in_field(in, "readinessGates");
    value = json_get(object, "resourceClaims");
    if (deployment_v1_has(value) && !deployment_v1_pod_resource_claim_list_read(in, value, &out->resource_claims)) return deployment_v1_in_field(in, "resourceClaims");
    value = json_get(object, "resources");
    if (deployment_v1_has(value) && !(out->resources = oarlock_alloc(in->mem, sizeof *out->resources), deployment_v1_resource_requirements_read(in, value, out->resources))) return deployment_v1_in_field(in, "resources");
    value = json_get(object, "restartPolicy");
    if (deployment_v1_has(value) && !deployment_v1_pod_spec_restart_policy_read(in, value, &out->restart_policy)) return deployment_v1_in_field(in, "restartPolicy");
    value = json_get(object, "runtimeClassName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->runtime_class_name)) return deployment_v1_in_field(in, "runtimeClassName");
    value = json_get(object, "schedulerName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->scheduler_name)) return deployment_v1_in_field(in, "schedulerName");
    value = json_get(object, "schedulingGates");
    if (deployment_v1_has(value) && !deployment_v1_pod_scheduling_gate_list_read(in, value, &out->scheduling_gates)) return deployment_v1_in_field(in, "schedulingGates");
    value = json_get(object, "schedulingGroup");
    if (deployment_v1_has(value) && !(out->scheduling_group = oarlock_alloc(in->mem, sizeof *out->scheduling_group), deployment_v1_pod_scheduling_group_read(in, value, out->scheduling_group))) return deployment_v1_in_field(in, "schedulingGroup");
    value = json_get(object, "securityContext");
    if (deployment_v1_has(value) && !(out->security_context = oarlock_alloc(in->mem, sizeof *out->security_context), deployment_v1_pod_security_context_read(in, value, out->security_context))) return deployment_v1_in_field(in, "securityContext");
    value = json_get(object, "serviceAccount");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->service_account)) return deployment_v1_in_field(in, "serviceAccount");
    value = json_get(object, "serviceAccountName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->service_account_name)) return deployment_v1_in_field(in, "serviceAccountName");
    value = json_get(object, "setHostnameAsFQDN");
    if (deployment_v1_has(value) && !(out->set_hostname_as_fqdn = oarlock_alloc(in->mem, sizeof *out->set_hostname_as_fqdn), deployment_v1_bool_read(in, value, out->set_hostname_as_fqdn))) return deployment_v1_in_field(in, "setHostnameAsFQDN");
    value = json_get(object, "shareProcessNamespace");
    if (deployment_v1_has(value) && !(out->share_process_namespace = oarlock_alloc(in->mem, sizeof *out->share_process_namespace), deployment_v1_bool_read(in, value, out->share_process_namespace))) return deployment_v1_in_field(in, "shareProcessNamespace");
    value = json_get(object, "subdomain");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->subdomain)) return deployment_v1_in_field(in, "subdomain");
    value = json_get(object, "terminationGracePeriodSeconds");
    if (deployment_v1_has(value) && !(out->termination_grace_period_seconds = oarlock_alloc(in->mem, sizeof *out->termination_grace_period_seconds), deployment_v1_int64_read(in, value, out->termination_grace_period_seconds))) return deployment_v1_in_field(in, "terminationGracePeriodSeconds");
    value = json_get(object, "tolerations");
    if (deployment_v1_has(value) && !deployment_v1_toleration_list_read(in, value, &out->tolerations)) return deployment_v1_in_field(in, "tolerations");
    value = json_get(object, "topologySpreadConstraints");
    if (deployment_v1_has(value) && !deployment_v1_topology_spread_constraint_list_read(in, value, &out->topology_spread_constraints)) return deployment_v1_in_field(in, "topologySpreadConstraints");
    value = json_get(object, "volumes");
    if (deployment_v1_has(value) && !deployment_v1_volume_list_read(in, value, &out->volumes)) return deployment_v1_in_field(in, "volumes");
    return true;
}

static inline const json *deployment_v1_pod_spec_to_json(oarlock_mem *mem, const deployment_v1_pod_spec *in) {
    json *out = json_new_object(mem);
    if (in->active_deadline_seconds) json_set(out, "activeDeadlineSeconds", json_new_int(mem, *in->active_deadline_seconds));
    if (in->affinity) json_set(out, "affinity", deployment_v1_affinity_to_json(mem, in->affinity));
    if (in->automount_service_account_token) json_set(out, "automountServiceAccountToken", json_new_bool(mem, *in->automount_service_account_token));
    json_set(out, "containers", deployment_v1_container_list_to_json(mem, &in->containers));
    if (in->dns_config) json_set(out, "dnsConfig", deployment_v1_pod_dns_config_to_json(mem, in->dns_config));
    if (in->dns_policy) json_set(out, "dnsPolicy", json_new_text(mem, deployment_v1_pod_spec_dns_policy_text(in->dns_policy)));
    if (in->enable_service_links) json_set(out, "enableServiceLinks", json_new_bool(mem, *in->enable_service_links));
    if (in->ephemeral_containers.items) json_set(out, "ephemeralContainers", deployment_v1_ephemeral_container_list_to_json(mem, &in->ephemeral_containers));
    if (in->host_aliases.items) json_set(out, "hostAliases", deployment_v1_host_alias_list_to_json(mem, &in->host_aliases));
    if (in->host_ipc) json_set(out, "hostIPC", json_new_bool(mem, *in->host_ipc));
    if (in->host_network) json_set(out, "hostNetwork", json_new_bool(mem, *in->host_network));
    if (in->host_pid) json_set(out, "hostPID", json_new_bool(mem, *in->host_pid));
    if (in->host_users) json_set(out, "hostUsers", json_new_bool(mem, *in->host_users));
    if (in->hostname) json_set(out, "hostname", json_new_text(mem, in->hostname));
    if (in->hostname_override) json_set(out, "hostnameOverride", json_new_text(mem, in->hostname_override));
    if (in->image_pull_secrets.items) json_set(out, "imagePullSecrets", deployment_v1_local_object_reference_list_to_json(mem, &in->image_pull_secrets));
    if (in->init_containers.items) json_set(out, "initContainers", deployment_v1_container_list_to_json(mem, &in->init_containers));
    if (in->node_name) json_set(out, "nodeName", json_new_text(mem, in->node_name));
    if (in->node_selector.items) json_set(out, "nodeSelector", deployment_v1_string_map_to_json(mem, &in->node_selector));
    if (in->os) json_set(out, "os", deployment_v1_pod_os_to_json(mem, in->os));
    if (in->overhead.items) json_set(out, "overhead", deployment_v1_int_or_string_map_to_json(mem, &in->overhead));
    if (in->preemption_policy) json_set(out, "preemptionPolicy", json_new_text(mem, deployment_v1_pod_spec_preemption_policy_text(in->preemption_policy)));
    if (in->priority) json_set(out, "priority", json_new_int(mem, *in->priority));
    if (in->priority_class_name) json_set(out, "priorityClassName", json_new_text(mem, in->priority_class_name));
    if (in->readiness_gates.items) json_set(out, "readinessGates", deployment_v1_pod_readiness_gate_list_to_json(mem, &in->readiness_gates));
    if (in->resource_claims.items) json_set(out, "resourceClaims", deployment_v1_pod_resource_claim_list_to_json(mem, &in->resource_claims));
    if (in->resources) json_set(out, "resources", deployment_v1_resource_requirements_to_json(mem, in->resources));
    if (in->restart_policy) json_set(out, "restartPolicy", json_new_text(mem, deployment_v1_pod_spec_restart_policy_text(in->restart_policy)));
    if (in->runtime_class_name) json_set(out, "runtimeClassName", json_new_text(mem, in->runtime_class_name));
    if (in->scheduler_name) json_set(out, "schedulerName", json_new_text(mem, in->scheduler_name));
    if (in->scheduling_gates.items) json_set(out, "schedulingGates", deployment_v1_pod_scheduling_gate_list_to_json(mem, &in->scheduling_gates));
    if (in->scheduling_group) json_set(out, "schedulingGroup", deployment_v1_pod_scheduling_group_to_json(mem, in->scheduling_group));
    if (in->security_context) json_set(out, "securityContext", deployment_v1_pod_security_context_to_json(mem, in->security_context));
    if (in->service_account) json_set(out, "serviceAccount", json_new_text(mem, in->service_account));
    if (in->service_account_name) json_set(out, "serviceAccountName", json_new_text(mem, in->service_account_name));
    if (in->set_hostname_as_fqdn) json_set(out, "setHostnameAsFQDN", json_new_bool(mem, *in->set_hostname_as_fqdn));
    if (in->share_process_namespace) json_set(out, "shareProcessNamespace", json_new_bool(mem, *in->share_process_namespace));
    if (in->subdomain) json_set(out, "subdomain", json_new_text(mem, in->subdomain));
    if (in->termination_grace_period_seconds) json_set(out, "terminationGracePeriodSeconds", json_new_int(mem, *in->termination_grace_period_seconds));
    if (in->tolerations.items) json_set(out, "tolerations", deployment_v1_toleration_list_to_json(mem, &in->tolerations));
    if (in->topology_spread_constraints.items) json_set(out, "topologySpreadConstraints", deployment_v1_topology_spread_constraint_list_to_json(mem, &in->topology_spread_constraints));
    if (in->volumes.items) json_set(out, "volumes", deployment_v1_volume_list_to_json(mem, &in->volumes));
    return out;
}

static inline bool deployment_v1_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_affinity *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "nodeAffinity");
    if (deployment_v1_has(value) && !(out->node_affinity = oarlock_alloc(in->mem, sizeof *out->node_affinity), deployment_v1_node_affinity_read(in, value, out->node_affinity))) return deployment_v1_in_field(in, "nodeAffinity");
    value = json_get(object, "podAffinity");
    if (deployment_v1_has(value) && !(out->pod_affinity = oarlock_alloc(in->mem, sizeof *out->pod_affinity), deployment_v1_pod_affinity_read(in, value, out->pod_affinity))) return deployment_v1_in_field(in, "podAffinity");
    value = json_get(object, "podAntiAffinity");
    if (deployment_v1_has(value) && !(out->pod_anti_affinity = oarlock_alloc(in->mem, sizeof *out->pod_anti_affinity), deployment_v1_pod_anti_affinity_read(in, value, out->pod_anti_affinity))) return deployment_v1_in_field(in, "podAntiAffinity");
    return true;
}

static inline const json *deployment_v1_affinity_to_json(oarlock_mem *mem, const deployment_v1_affinity *in) {
    json *out = json_new_object(mem);
    if (in->node_affinity) json_set(out, "nodeAffinity", deployment_v1_node_affinity_to_json(mem, in->node_affinity));
    if (in->pod_affinity) json_set(out, "podAffinity", deployment_v1_pod_affinity_to_json(mem, in->pod_affinity));
    if (in->pod_anti_affinity) json_set(out, "podAntiAffinity", deployment_v1_pod_anti_affinity_to_json(mem, in->pod_anti_affinity));
    return out;
}

static inline bool deployment_v1_node_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_node_affinity *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "preferredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !deployment_v1_preferred_scheduling_term_list_read(in, value, &out->preferred_during_scheduling_ignored_during_execution)) return deployment_v1_in_field(in, "preferredDuringSchedulingIgnoredDuringExecution");
    value = json_get(object, "requiredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !(out->required_during_scheduling_ignored_during_execution = oarlock_alloc(in->mem, sizeof *out->required_during_scheduling_ignored_during_execution), deployment_v1_node_selector_read(in, value, out->required_during_scheduling_ignored_during_execution))) return deployment_v1_in_field(in, "requiredDuringSchedulingIgnoredDuringExecution");
    return true;
}

static inline const json *deployment_v1_node_affinity_to_json(oarlock_mem *mem, const deployment_v1_node_affinity *in) {
    json *out = json_new_object(mem);
    if (in->preferred_during_scheduling_ignored_during_execution.items) json_set(out, "preferredDuringSchedulingIgnoredDuringExecution", deployment_v1_preferred_scheduling_term_list_to_json(mem, &in->preferred_during_scheduling_ignored_during_execution));
    if (in->required_during_scheduling_ignored_during_execution) json_set(out, "requiredDuringSchedulingIgnoredDuringExecution", deployment_v1_node_selector_to_json(mem, in->required_during_scheduling_ignored_during_execution));
    return out;
}

static inline bool deployment_v1_preferred_scheduling_term_read(deployment_v1_reader *in, const json *value, deployment_v1_preferred_scheduling_term *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "preference");
    if (!(out->preference = oarlock_alloc(in->mem, sizeof *out->preference), deployment_v1_node_selector_term_read(in, value, out->preference))) return deployment_v1_in_field(in, "preference");
    value = json_get(object, "weight");
    if (!deployment_v1_int32_read(in, value, &out->weight)) return deployment_v1_in_field(in, "weight");
    return true;
}

static inline const json *deployment_v1_preferred_scheduling_term_to_json(oarlock_mem *mem, const deployment_v1_preferred_scheduling_term *in) {
    json *out = json_new_object(mem);
    json_set(out, "preference", in->preference ? deployment_v1_node_selector_term_to_json(mem, in->preference) : json_new_null(mem));
    json_set(out, "weight", json_new_int(mem, in->weight));
    return out;
}

static inline bool deployment_v1_node_selector_term_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_term *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "matchExpressions");
    if (deployment_v1_has(value) && !deployment_v1_node_selector_requirement_list_read(in, value, &out->match_expressions)) return deployment_v1_in_field(in, "matchExpressions");
    value = json_get(object, "matchFields");
    if (deployment_v1_has(value) && !deployment_v1_node_selector_requirement_list_read(in, value, &out->match_fields)) return deployment_v1_in_field(in, "matchFields");
    return true;
}

static inline const json *deployment_v1_node_selector_term_to_json(oarlock_mem *mem, const deployment_v1_node_selector_term *in) {
    json *out = json_new_object(mem);
    if (in->match_expressions.items) json_set(out, "matchExpressions", deployment_v1_node_selector_requirement_list_to_json(mem, &in->match_expressions));
    if (in->match_fields.items) json_set(out, "matchFields", deployment_v1_node_selector_requirement_list_to_json(mem, &in->match_fields));
    return out;
}

static inline bool deployment_v1_node_selector_requirement_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector_requirement *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "operator");
    if (!deployment_v1_node_selector_requirement_operator_read(in, value, &out->operator_)) return deployment_v1_in_field(in, "operator");
    value = json_get(object, "values");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->values)) return deployment_v1_in_field(in, "values");
    return true;
}

static inline const json *deployment_v1_node_selector_requirement_to_json(oarlock_mem *mem, const deployment_v1_node_selector_requirement *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    json_set(out, "operator", json_new_text(mem, deployment_v1_node_selector_requirement_operator_text(in->operator_)));
    if (in->values.items) json_set(out, "values", deployment_v1_string_list_to_json(mem, &in->values));
    return out;
}

static inline bool deployment_v1_node_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_node_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "nodeSelectorTerms");
    if (!deployment_v1_is_null(value) && !deployment_v1_node_selector_term_list_read(in, value, &out->node_selector_terms)) return deployment_v1_in_field(in, "nodeSelectorTerms");
    return true;
}

static inline const json *deployment_v1_node_selector_to_json(oarlock_mem *mem, const deployment_v1_node_selector *in) {
    json *out = json_new_object(mem);
    json_set(out, "nodeSelectorTerms", deployment_v1_node_selector_term_list_to_json(mem, &in->node_selector_terms));
    return out;
}

static inline bool deployment_v1_pod_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "preferredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !deployment_v1_weighted_pod_affinity_term_list_read(in, value, &out->preferred_during_scheduling_ignored_during_execution)) return deployment_v1_in_field(in, "preferredDuringSchedulingIgnoredDuringExecution");
    value = json_get(object, "requiredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !deployment_v1_pod_affinity_term_list_read(in, value, &out->required_during_scheduling_ignored_during_execution)) return deployment_v1_in_field(in, "requiredDuringSchedulingIgnoredDuringExecution");
    return true;
}

static inline const json *deployment_v1_pod_affinity_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity *in) {
    json *out = json_new_object(mem);
    if (in->preferred_during_scheduling_ignored_during_execution.items) json_set(out, "preferredDuringSchedulingIgnoredDuringExecution", deployment_v1_weighted_pod_affinity_term_list_to_json(mem, &in->preferred_during_scheduling_ignored_during_execution));
    if (in->required_during_scheduling_ignored_during_execution.items) json_set(out, "requiredDuringSchedulingIgnoredDuringExecution", deployment_v1_pod_affinity_term_list_to_json(mem, &in->required_during_scheduling_ignored_during_execution));
    return out;
}

static inline bool deployment_v1_weighted_pod_affinity_term_read(deployment_v1_reader *in, const json *value, deployment_v1_weighted_pod_affinity_term *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "podAffinityTerm");
    if (!(out->pod_affinity_term = oarlock_alloc(in->mem, sizeof *out->pod_affinity_term), deployment_v1_pod_affinity_term_read(in, value, out->pod_affinity_term))) return deployment_v1_in_field(in, "podAffinityTerm");
    value = json_get(object, "weight");
    if (!deployment_v1_int32_read(in, value, &out->weight)) return deployment_v1_in_field(in, "weight");
    return true;
}

static inline const json *deployment_v1_weighted_pod_affinity_term_to_json(oarlock_mem *mem, const deployment_v1_weighted_pod_affinity_term *in) {
    json *out = json_new_object(mem);
    json_set(out, "podAffinityTerm", in->pod_affinity_term ? deployment_v1_pod_affinity_term_to_json(mem, in->pod_affinity_term) : json_new_null(mem));
    json_set(out, "weight", json_new_int(mem, in->weight));
    return out;
}

static inline bool deployment_v1_pod_affinity_term_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_affinity_term *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "labelSelector");
    if (deployment_v1_has(value) && !(out->label_selector = oarlock_alloc(in->mem, sizeof *out->label_selector), deployment_v1_label_selector_read(in, value, out->label_selector))) return deployment_v1_in_field(in, "labelSelector");
    value = json_get(object, "matchLabelKeys");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->match_label_keys)) return deployment_v1_in_field(in, "matchLabelKeys");
    value = json_get(object, "mismatchLabelKeys");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->mismatch_label_keys)) return deployment_v1_in_field(in, "mismatchLabelKeys");
    value = json_get(object, "namespaceSelector");
    if (deployment_v1_has(value) && !(out->namespace_selector = oarlock_alloc(in->mem, sizeof *out->namespace_selector), deployment_v1_label_selector_read(in, value, out->namespace_selector))) return deployment_v1_in_field(in, "namespaceSelector");
    value = json_get(object, "namespaces");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->namespaces)) return deployment_v1_in_field(in, "namespaces");
    value = json_get(object, "topologyKey");
    if (!deployment_v1_string_read(in, value, &out->topology_key)) return deployment_v1_in_field(in, "topologyKey");
    return true;
}

static inline const json *deployment_v1_pod_affinity_term_to_json(oarlock_mem *mem, const deployment_v1_pod_affinity_term *in) {
    json *out = json_new_object(mem);
    if (in->label_selector) json_set(out, "labelSelector", deployment_v1_label_selector_to_json(mem, in->label_selector));
    if (in->match_label_keys.items) json_set(out, "matchLabelKeys", deployment_v1_string_list_to_json(mem, &in->match_label_keys));
    if (in->mismatch_label_keys.items) json_set(out, "mismatchLabelKeys", deployment_v1_string_list_to_json(mem, &in->mismatch_label_keys));
    if (in->namespace_selector) json_set(out, "namespaceSelector", deployment_v1_label_selector_to_json(mem, in->namespace_selector));
    if (in->namespaces.items) json_set(out, "namespaces", deployment_v1_string_list_to_json(mem, &in->namespaces));
    json_set(out, "topologyKey", json_new_text(mem, in->topology_key));
    return out;
}

static inline bool deployment_v1_pod_anti_affinity_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_anti_affinity *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "preferredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !deployment_v1_weighted_pod_affinity_term_list_read(in, value, &out->preferred_during_scheduling_ignored_during_execution)) return deployment_v1_in_field(in, "preferredDuringSchedulingIgnoredDuringExecution");
    value = json_get(object, "requiredDuringSchedulingIgnoredDuringExecution");
    if (deployment_v1_has(value) && !deployment_v1_pod_affinity_term_list_read(in, value, &out->required_during_scheduling_ignored_during_execution)) return deployment_v1_in_field(in, "requiredDuringSchedulingIgnoredDuringExecution");
    return true;
}

static inline const json *deployment_v1_pod_anti_affinity_to_json(oarlock_mem *mem, const deployment_v1_pod_anti_affinity *in) {
    json *out = json_new_object(mem);
    if (in->preferred_during_scheduling_ignored_during_execution.items) json_set(out, "preferredDuringSchedulingIgnoredDuringExecution", deployment_v1_weighted_pod_affinity_term_list_to_json(mem, &in->preferred_during_scheduling_ignored_during_execution));
    if (in->required_during_scheduling_ignored_during_execution.items) json_set(out, "requiredDuringSchedulingIgnoredDuringExecution", deployment_v1_pod_affinity_term_list_to_json(mem, &in->required_during_scheduling_ignored_during_execution));
    return out;
}

static inline bool deployment_v1_container_read(deployment_v1_reader *in, const json *value, deployment_v1_container *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "args");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->args)) return deployment_v1_in_field(in, "args");
    value = json_get(object, "command");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->command)) return deployment_v1_in_field(in, "command");
    value = json_get(object, "env");
    if (deployment_v1_has(value) && !deployment_v1_env_var_list_read(in, value, &out->env)) return deployment_v1_in_field(in, "env");
    value = json_get(object, "envFrom");
    if (deployment_v1_has(value) && !deployment_v1_env_from_source_list_read(in, value, &out->env_from)) return deployment_v1_in_field(in, "envFrom");
    value = json_get(object, "image");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->image)) return deployment_v1_in_field(in, "image");
    value = json_get(object, "imagePullPolicy");
    if (deployment_v1_has(value) && !deployment_v1_container_image_pull_policy_read(in, value, &out->image_pull_policy)) return deployment_v1_in_field(in, "imagePullPolicy");
    value = json_get(object, "lifecycle");
    if (deployment_v1_has(value) && !(out->lifecycle = oarlock_alloc(in->mem, sizeof *out->lifecycle), deployment_v1_lifecycle_read(in, value, out->lifecycle))) return deployment_v1_in_field(in, "lifecycle");
    value = json_get(object, "livenessProbe");
    if (deployment_v1_has(value) && !(out->liveness_probe = oarlock_alloc(in->mem, sizeof *out->liveness_probe), deployment_v1_probe_read(in, value, out->liveness_probe))) return deployment_v1_in_field(in, "livenessProbe");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "ports");
    if (deployment_v1_has(value) && !deployment_v1_container_port_list_read(in, value, &out->ports)) return deployment_v1_in_field(in, "ports");
    value = json_get(object, "readinessProbe");
    if (deployment_v1_has(value) && !(out->readiness_probe = oarlock_alloc(in->mem, sizeof *out->readiness_probe), deployment_v1_probe_read(in, value, out->readiness_probe))) return deployment_v1_in_field(in, "readinessProbe");
    value = json_get(object, "resizePolicy");
    if (deployment_v1_has(value) && !deployment_v1_container_resize_policy_list_read(in, value, &out->resize_policy)) return deployment_v1_in_field(in, "resizePolicy");
    value = json_get(object, "resources");
    if (deployment_v1_has(value) && !(out->resources = oarlock_alloc(in->mem, sizeof *out->resources), deployment_v1_resource_requirements_read(in, value, out->resources))) return deployment_v1_in_field(in, "resources");
    value = json_get(object, "restartPolicy");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->restart_policy)) return deployment_v1_in_field(in, "restartPolicy");
    value = json_get(object, "restartPolicyRules");
    if (deployment_v1_has(value) && !deployment_v1_container_restart_rule_list_read(in, value, &out->restart_policy_rules)) return deployment_v1_in_field(in, "restartPolicyRules");
    value = json_get(object, "securityContext");
    if (deployment_v1_has(value) && !(out->security_context = oarlock_alloc(in->mem, sizeof *out->security_context), deployment_v1_security_context_read(in, value, out->security_context))) return deployment_v1_in_field(in, "securityContext");
    value = json_get(object, "startupProbe");
    if (deployment_v1_has(value) && !(out->startup_probe = oarlock_alloc(in->mem, sizeof *out->startup_probe), deployment_v1_probe_read(in, value, out->startup_probe))) return deployment_v1_in_field(in, "startupProbe");
    value = json_get(object, "stdin");
    if (deployment_v1_has(value) && !(out->stdin_ = oarlock_alloc(in->mem, sizeof *out->stdin_), deployment_v1_bool_read(in, value, out->stdin_))) return deployment_v1_in_field(in, "stdin");
    value = json_get(object, "stdinOnce");
    if (deployment_v1_has(value) && !(out->stdin_once = oarlock_alloc(in->mem, sizeof *out->stdin_once), deployment_v1_bool_read(in, value, out->stdin_once))) return deployment_v1_in_field(in, "stdinOnce");
    value = json_get(object, "terminationMessagePath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->termination_message_path)) return deployment_v1_in_field(in, "terminationMessagePath");
    value = json_get(object, "terminationMessagePolicy");
    if (deployment_v1_has(value) && !deployment_v1_container_termination_message_policy_read(in, value, &out->termination_message_policy)) return deployment_v1_in_field(in, "terminationMessagePolicy");
    value = json_get(object, "tty");
    if (deployment_v1_has(value) && !(out->tty = oarlock_alloc(in->mem, sizeof *out->tty), deployment_v1_bool_read(in, value, out->tty))) return deployment_v1_in_field(in, "tty");
    value = json_get(object, "volumeDevices");
    if (deployment_v1_has(value) && !deployment_v1_volume_device_list_read(in, value, &out->volume_devices)) return deployment_v1_in_field(in, "volumeDevices");
    value = json_get(object, "volumeMounts");
    if (deployment_v1_has(value) && !deployment_v1_volume_mount_list_read(in, value, &out->volume_mounts)) return deployment_v1_in_field(in, "volumeMounts");
    value = json_get(object, "workingDir");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->working_dir)) return deployment_v1_in_field(in, "workingDir");
    return true;
}

static inline const json *deployment_v1_container_to_json(oarlock_mem *mem, const deployment_v1_container *in) {
    json *out = json_new_object(mem);
    if (in->args.items) json_set(out, "args", deployment_v1_string_list_to_json(mem, &in->args));
    if (in->command.items) json_set(out, "command", deployment_v1_string_list_to_json(mem, &in->command));
    if (in->env.items) json_set(out, "env", deployment_v1_env_var_list_to_json(mem, &in->env));
    if (in->env_from.items) json_set(out, "envFrom", deployment_v1_env_from_source_list_to_json(mem, &in->env_from));
    if (in->image) json_set(out, "image", json_new_text(mem, in->image));
    if (in->image_pull_policy) json_set(out, "imagePullPolicy", json_new_text(mem, deployment_v1_container_image_pull_policy_text(in->image_pull_policy)));
    if (in->lifecycle) json_set(out, "lifecycle", deployment_v1_lifecycle_to_json(mem, in->lifecycle));
    if (in->liveness_probe) json_set(out, "livenessProbe", deployment_v1_probe_to_json(mem, in->liveness_probe));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->ports.items) json_set(out, "ports", deployment_v1_container_port_list_to_json(mem, &in->ports));
    if (in->readiness_probe) json_set(out, "readinessProbe", deployment_v1_probe_to_json(mem, in->readiness_probe));
    if (in->resize_policy.items) json_set(out, "resizePolicy", deployment_v1_container_resize_policy_list_to_json(mem, &in->resize_policy));
    if (in->resources) json_set(out, "resources", deployment_v1_resource_requirements_to_json(mem, in->resources));
    if (in->restart_policy) json_set(out, "restartPolicy", json_new_text(mem, in->restart_policy));
    if (in->restart_policy_rules.items) json_set(out, "restartPolicyRules", deployment_v1_container_restart_rule_list_to_json(mem, &in->restart_policy_rules));
    if (in->security_context) json_set(out, "securityContext", deployment_v1_security_context_to_json(mem, in->security_context));
    if (in->startup_probe) json_set(out, "startupProbe", deployment_v1_probe_to_json(mem, in->startup_probe));
    if (in->stdin_) json_set(out, "stdin", json_new_bool(mem, *in->stdin_));
    if (in->stdin_once) json_set(out, "stdinOnce", json_new_bool(mem, *in->stdin_once));
    if (in->termination_message_path) json_set(out, "terminationMessagePath", json_new_text(mem, in->termination_message_path));
    if (in->termination_message_policy) json_set(out, "terminationMessagePolicy", json_new_text(mem, deployment_v1_container_termination_message_policy_text(in->termination_message_policy)));
    if (in->tty) json_set(out, "tty", json_new_bool(mem, *in->tty));
    if (in->volume_devices.items) json_set(out, "volumeDevices", deployment_v1_volume_device_list_to_json(mem, &in->volume_devices));
    if (in->volume_mounts.items) json_set(out, "volumeMounts", deployment_v1_volume_mount_list_to_json(mem, &in->volume_mounts));
    if (in->working_dir) json_set(out, "workingDir", json_new_text(mem, in->working_dir));
    return out;
}

static inline bool deployment_v1_env_var_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "value");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->value)) return deployment_v1_in_field(in, "value");
    value = json_get(object, "valueFrom");
    if (deployment_v1_has(value) && !(out->value_from = oarlock_alloc(in->mem, sizeof *out->value_from), deployment_v1_env_var_source_read(in, value, out->value_from))) return deployment_v1_in_field(in, "valueFrom");
    return true;
}

static inline const json *deployment_v1_env_var_to_json(oarlock_mem *mem, const deployment_v1_env_var *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->value) json_set(out, "value", json_new_text(mem, in->value));
    if (in->value_from) json_set(out, "valueFrom", deployment_v1_env_var_source_to_json(mem, in->value_from));
    return out;
}

static inline bool deployment_v1_env_var_source_read(deployment_v1_reader *in, const json *value, deployment_v1_env_var_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "configMapKeyRef");
    if (deployment_v1_has(value) && !(out->config_map_key_ref = oarlock_alloc(in->mem, sizeof *out->config_map_key_ref), deployment_v1_config_map_key_selector_read(in, value, out->config_map_key_ref))) return deployment_v1_in_field(in, "configMapKeyRef");
    value = json_get(object, "fieldRef");
    if (deployment_v1_has(value) && !(out->field_ref = oarlock_alloc(in->mem, sizeof *out->field_ref), deployment_v1_object_field_selector_read(in, value, out->field_ref))) return deployment_v1_in_field(in, "fieldRef");
    value = json_get(object, "fileKeyRef");
    if (deployment_v1_has(value) && !(out->file_key_ref = oarlock_alloc(in->mem, sizeof *out->file_key_ref), deployment_v1_file_key_selector_read(in, value, out->file_key_ref))) return deployment_v1_in_field(in, "fileKeyRef");
    value = json_get(object, "resourceFieldRef");
    if (deployment_v1_has(value) && !(out->resource_field_ref = oarlock_alloc(in->mem, sizeof *out->resource_field_ref), deployment_v1_resource_field_selector_read(in, value, out->resource_field_ref))) return deployment_v1_in_field(in, "resourceFieldRef");
    value = json_get(object, "secretKeyRef");
    if (deployment_v1_has(value) && !(out->secret_key_ref = oarlock_alloc(in->mem, sizeof *out->secret_key_ref), deployment_v1_secret_key_selector_read(in, value, out->secret_key_ref))) return deployment_v1_in_field(in, "secretKeyRef");
    return true;
}

static inline const json *deployment_v1_env_var_source_to_json(oarlock_mem *mem, const deployment_v1_env_var_source *in) {
    json *out = json_new_object(mem);
    if (in->config_map_key_ref) json_set(out, "configMapKeyRef", deployment_v1_config_map_key_selector_to_json(mem, in->config_map_key_ref));
    if (in->field_ref) json_set(out, "fieldRef", deployment_v1_object_field_selector_to_json(mem, in->field_ref));
    if (in->file_key_ref) json_set(out, "fileKeyRef", deployment_v1_file_key_selector_to_json(mem, in->file_key_ref));
    if (in->resource_field_ref) json_set(out, "resourceFieldRef", deployment_v1_resource_field_selector_to_json(mem, in->resource_field_ref));
    if (in->secret_key_ref) json_set(out, "secretKeyRef", deployment_v1_secret_key_selector_to_json(mem, in->secret_key_ref));
    return out;
}

static inline bool deployment_v1_config_map_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_key_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_config_map_key_selector_to_json(oarlock_mem *mem, const deployment_v1_config_map_key_selector *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_object_field_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_object_field_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->api_version)) return deployment_v1_in_field(in, "apiVersion");
    value = json_get(object, "fieldPath");
    if (!deployment_v1_string_read(in, value, &out->field_path)) return deployment_v1_in_field(in, "fieldPath");
    return true;
}

static inline const json *deployment_v1_object_field_selector_to_json(oarlock_mem *mem, const deployment_v1_object_field_selector *in) {
    json *out = json_new_object(mem);
    if (in->api_version) json_set(out, "apiVersion", json_new_text(mem, in->api_version));
    json_set(out, "fieldPath", json_new_text(mem, in->field_path));
    return out;
}

static inline bool deployment_v1_file_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_file_key_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "volumeName");
    if (!deployment_v1_string_read(in, value, &out->volume_name)) return deployment_v1_in_field(in, "volumeName");
    return true;
}

static inline const json *deployment_v1_file_key_selector_to_json(oarlock_mem *mem, const deployment_v1_file_key_selector *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    json_set(out, "path", json_new_text(mem, in->path));
    json_set(out, "volumeName", json_new_text(mem, in->volume_name));
    return out;
}

static inline bool deployment_v1_resource_field_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_field_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "containerName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->container_name)) return deployment_v1_in_field(in, "containerName");
    value = json_get(object, "divisor");
    if (deployment_v1_has(value) && !(out->divisor = oarlock_alloc(in->mem, sizeof *out->divisor), deployment_v1_int_or_string_read(in, value, out->divisor))) return deployment_v1_in_field(in, "divisor");
    value = json_get(object, "resource");
    if (!deployment_v1_string_read(in, value, &out->resource)) return deployment_v1_in_field(in, "resource");
    return true;
}

static inline const json *deployment_v1_resource_field_selector_to_json(oarlock_mem *mem, const deployment_v1_resource_field_selector *in) {
    json *out = json_new_object(mem);
    if (in->container_name) json_set(out, "containerName", json_new_text(mem, in->container_name));
    if (in->divisor) json_set(out, "divisor", deployment_v1_int_or_string_write(mem, in->divisor));
    json_set(out, "resource", json_new_text(mem, in->resource));
    return out;
}

static inline bool deployment_v1_secret_key_selector_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_key_selector *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_secret_key_selector_to_json(oarlock_mem *mem, const deployment_v1_secret_key_selector *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_env_from_source_read(deployment_v1_reader *in, const json *value, deployment_v1_env_from_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "configMapRef");
    if (deployment_v1_has(value) && !(out->config_map_ref = oarlock_alloc(in->mem, sizeof *out->config_map_ref), deployment_v1_config_map_env_source_read(in, value, out->config_map_ref))) return deployment_v1_in_field(in, "configMapRef");
    value = json_get(object, "prefix");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->prefix)) return deployment_v1_in_field(in, "prefix");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_secret_env_source_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    return true;
}

static inline const json *deployment_v1_env_from_source_to_json(oarlock_mem *mem, const deployment_v1_env_from_source *in) {
    json *out = json_new_object(mem);
    if (in->config_map_ref) json_set(out, "configMapRef", deployment_v1_config_map_env_source_to_json(mem, in->config_map_ref));
    if (in->prefix) json_set(out, "prefix", json_new_text(mem, in->prefix));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_secret_env_source_to_json(mem, in->secret_ref));
    return out;
}

static inline bool deployment_v1_config_map_env_source_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_env_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_config_map_env_source_to_json(oarlock_mem *mem, const deployment_v1_config_map_env_source *in) {
    json *out = json_new_object(mem);
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_secret_env_source_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_env_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_secret_env_source_to_json(oarlock_mem *mem, const deployment_v1_secret_env_source *in) {
    json *out = json_new_object(mem);
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_lifecycle_read(deployment_v1_reader *in, const json *value, deployment_v1_lifecycle *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "postStart");
    if (deployment_v1_has(value) && !(out->post_start = oarlock_alloc(in->mem, sizeof *out->post_start), deployment_v1_lifecycle_handler_read(in, value, out->post_start))) return deployment_v1_in_field(in, "postStart");
    value = json_get(object, "preStop");
    if (deployment_v1_has(value) && !(out->pre_stop = oarlock_alloc(in->mem, sizeof *out->pre_stop), deployment_v1_lifecycle_handler_read(in, value, out->pre_stop))) return deployment_v1_in_field(in, "preStop");
    value = json_get(object, "stopSignal");
    if (deployment_v1_has(value) && !deployment_v1_lifecycle_stop_signal_read(in, value, &out->stop_signal)) return deployment_v1_in_field(in, "stopSignal");
    return true;
}

static inline const json *deployment_v1_lifecycle_to_json(oarlock_mem *mem, const deployment_v1_lifecycle *in) {
    json *out = json_new_object(mem);
    if (in->post_start) json_set(out, "postStart", deployment_v1_lifecycle_handler_to_json(mem, in->post_start));
    if (in->pre_stop) json_set(out, "preStop", deployment_v1_lifecycle_handler_to_json(mem, in->pre_stop));
    if (in->stop_signal) json_set(out, "stopSignal", json_new_text(mem, deployment_v1_lifecycle_stop_signal_text(in->stop_signal)));
    return out;
}

static inline bool deployment_v1_lifecycle_handler_read(deployment_v1_reader *in, const json *value, deployment_v1_lifecycle_handler *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "exec");
    if (deployment_v1_has(value) && !(out->exec = oarlock_alloc(in->mem, sizeof *out->exec), deployment_v1_exec_action_read(in, value, out->exec))) return deployment_v1_in_field(in, "exec");
    value = json_get(object, "httpGet");
    if (deployment_v1_has(value) && !(out->http_get = oarlock_alloc(in->mem, sizeof *out->http_get), deployment_v1_http_get_action_read(in, value, out->http_get))) return deployment_v1_in_field(in, "httpGet");
    value = json_get(object, "sleep");
    if (deployment_v1_has(value) && !(out->sleep = oarlock_alloc(in->mem, sizeof *out->sleep), deployment_v1_sleep_action_read(in, value, out->sleep))) return deployment_v1_in_field(in, "sleep");
    value = json_get(object, "tcpSocket");
    if (deployment_v1_has(value) && !(out->tcp_socket = oarlock_alloc(in->mem, sizeof *out->tcp_socket), deployment_v1_tcp_socket_action_read(in, value, out->tcp_socket))) return deployment_v1_in_field(in, "tcpSocket");
    return true;
}

static inline const json *deployment_v1_lifecycle_handler_to_json(oarlock_mem *mem, const deployment_v1_lifecycle_handler *in) {
    json *out = json_new_object(mem);
    if (in->exec) json_set(out, "exec", deployment_v1_exec_action_to_json(mem, in->exec));
    if (in->http_get) json_set(out, "httpGet", deployment_v1_http_get_action_to_json(mem, in->http_get));
    if (in->sleep) json_set(out, "sleep", deployment_v1_sleep_action_to_json(mem, in->sleep));
    if (in->tcp_socket) json_set(out, "tcpSocket", deployment_v1_tcp_socket_action_to_json(mem, in->tcp_socket));
    return out;
}

static inline bool deployment_v1_exec_action_read(deployment_v1_reader *in, const json *value, deployment_v1_exec_action *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "command");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->command)) return deployment_v1_in_field(in, "command");
    return true;
}

static inline const json *deployment_v1_exec_action_to_json(oarlock_mem *mem, const deployment_v1_exec_action *in) {
    json *out = json_new_object(mem);
    if (in->command.items) json_set(out, "command", deployment_v1_string_list_to_json(mem, &in->command));
    return out;
}

static inline bool deployment_v1_http_get_action_read(deployment_v1_reader *in, const json *value, deployment_v1_http_get_action *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "host");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->host)) return deployment_v1_in_field(in, "host");
    value = json_get(object, "httpHeaders");
    if (deployment_v1_has(value) && !deployment_v1_http_header_list_read(in, value, &out->http_headers)) return deployment_v1_in_field(in, "httpHeaders");
    value = json_get(object, "path");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "port");
    if (!deployment_v1_int_or_string_read(in, value, &out->port)) return deployment_v1_in_field(in, "port");
    value = json_get(object, "scheme");
    if (deployment_v1_has(value) && !deployment_v1_http_get_action_scheme_read(in, value, &out->scheme)) return deployment_v1_in_field(in, "scheme");
    return true;
}

static inline const json *deployment_v1_http_get_action_to_json(oarlock_mem *mem, const deployment_v1_http_get_action *in) {
    json *out = json_new_object(mem);
    if (in->host) json_set(out, "host", json_new_text(mem, in->host));
    if (in->http_headers.items) json_set(out, "httpHeaders", deployment_v1_http_header_list_to_json(mem, &in->http_headers));
    if (in->path) json_set(out, "path", json_new_text(mem, in->path));
    json_set(out, "port", deployment_v1_int_or_string_write(mem, &in->port));
    if (in->scheme) json_set(out, "scheme", json_new_text(mem, deployment_v1_http_get_action_scheme_text(in->scheme)));
    return out;
}

static inline bool deployment_v1_http_header_read(deployment_v1_reader *in, const json *value, deployment_v1_http_header *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "value");
    if (!deployment_v1_string_read(in, value, &out->value)) return deployment_v1_in_field(in, "value");
    return true;
}

static inline const json *deployment_v1_http_header_to_json(oarlock_mem *mem, const deployment_v1_http_header *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "value", json_new_text(mem, in->value));
    return out;
}

static inline bool deployment_v1_sleep_action_read(deployment_v1_reader *in, const json *value, deployment_v1_sleep_action *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "seconds");
    if (!deployment_v1_int64_read(in, value, &out->seconds)) return deployment_v1_in_field(in, "seconds");
    return true;
}

static inline const json *deployment_v1_sleep_action_to_json(oarlock_mem *mem, const deployment_v1_sleep_action *in) {
    json *out = json_new_object(mem);
    json_set(out, "seconds", json_new_int(mem, in->seconds));
    return out;
}

static inline bool deployment_v1_tcp_socket_action_read(deployment_v1_reader *in, const json *value, deployment_v1_tcp_socket_action *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "host");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->host)) return deployment_v1_in_field(in, "host");
    value = json_get(object, "port");
    if (!deployment_v1_int_or_string_read(in, value, &out->port)) return deployment_v1_in_field(in, "port");
    return true;
}

static inline const json *deployment_v1_tcp_socket_action_to_json(oarlock_mem *mem, const deployment_v1_tcp_socket_action *in) {
    json *out = json_new_object(mem);
    if (in->host) json_set(out, "host", json_new_text(mem, in->host));
    json_set(out, "port", deployment_v1_int_or_string_write(mem, &in->port));
    return out;
}

static inline bool deployment_v1_probe_read(deployment_v1_reader *in, const json *value, deployment_v1_probe *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "exec");
    if (deployment_v1_has(value) && !(out->exec = oarlock_alloc(in->mem, sizeof *out->exec), deployment_v1_exec_action_read(in, value, out->exec))) return deployment_v1_in_field(in, "exec");
    value = json_get(object, "failureThreshold");
    if (deployment_v1_has(value) && !(out->failure_threshold = oarlock_alloc(in->mem, sizeof *out->failure_threshold), deployment_v1_int32_read(in, value, out->failure_threshold))) return deployment_v1_in_field(in, "failureThreshold");
    value = json_get(object, "grpc");
    if (deployment_v1_has(value) && !(out->grpc = oarlock_alloc(in->mem, sizeof *out->grpc), deployment_v1_grpc_action_read(in, value, out->grpc))) return deployment_v1_in_field(in, "grpc");
    value = json_get(object, "httpGet");
    if (deployment_v1_has(value) && !(out->http_get = oarlock_alloc(in->mem, sizeof *out->http_get), deployment_v1_http_get_action_read(in, value, out->http_get))) return deployment_v1_in_field(in, "httpGet");
    value = json_get(object, "initialDelaySeconds");
    if (deployment_v1_has(value) && !(out->initial_delay_seconds = oarlock_alloc(in->mem, sizeof *out->initial_delay_seconds), deployment_v1_int32_read(in, value, out->initial_delay_seconds))) return deployment_v1_in_field(in, "initialDelaySeconds");
    value = json_get(object, "periodSeconds");
    if (deployment_v1_has(value) && !(out->period_seconds = oarlock_alloc(in->mem, sizeof *out->period_seconds), deployment_v1_int32_read(in, value, out->period_seconds))) return deployment_v1_in_field(in, "periodSeconds");
    value = json_get(object, "successThreshold");
    if (deployment_v1_has(value) && !(out->success_threshold = oarlock_alloc(in->mem, sizeof *out->success_threshold), deployment_v1_int32_read(in, value, out->success_threshold))) return deployment_v1_in_field(in, "successThreshold");
    value = json_get(object, "tcpSocket");
    if (deployment_v1_has(value) && !(out->tcp_socket = oarlock_alloc(in->mem, sizeof *out->tcp_socket), deployment_v1_tcp_socket_action_read(in, value, out->tcp_socket))) return deployment_v1_in_field(in, "tcpSocket");
    value = json_get(object, "terminationGracePeriodSeconds");
    if (deployment_v1_has(value) && !(out->termination_grace_period_seconds = oarlock_alloc(in->mem, sizeof *out->termination_grace_period_seconds), deployment_v1_int64_read(in, value, out->termination_grace_period_seconds))) return deployment_v1_in_field(in, "terminationGracePeriodSeconds");
    value = json_get(object, "timeoutSeconds");
    if (deployment_v1_has(value) && !(out->timeout_seconds = oarlock_alloc(in->mem, sizeof *out->timeout_seconds), deployment_v1_int32_read(in, value, out->timeout_seconds))) return deployment_v1_in_field(in, "timeoutSeconds");
    return true;
}

static inline const json *deployment_v1_probe_to_json(oarlock_mem *mem, const deployment_v1_probe *in) {
    json *out = json_new_object(mem);
    if (in->exec) json_set(out, "exec", deployment_v1_exec_action_to_json(mem, in->exec));
    if (in->failure_threshold) json_set(out, "failureThreshold", json_new_int(mem, *in->failure_threshold));
    if (in->grpc) json_set(out, "grpc", deployment_v1_grpc_action_to_json(mem, in->grpc));
    if (in->http_get) json_set(out, "httpGet", deployment_v1_http_get_action_to_json(mem, in->http_get));
    if (in->initial_delay_seconds) json_set(out, "initialDelaySeconds", json_new_int(mem, *in->initial_delay_seconds));
    if (in->period_seconds) json_set(out, "periodSeconds", json_new_int(mem, *in->period_seconds));
    if (in->success_threshold) json_set(out, "successThreshold", json_new_int(mem, *in->success_threshold));
    if (in->tcp_socket) json_set(out, "tcpSocket", deployment_v1_tcp_socket_action_to_json(mem, in->tcp_socket));
    if (in->termination_grace_period_seconds) json_set(out, "terminationGracePeriodSeconds", json_new_int(mem, *in->termination_grace_period_seconds));
    if (in->timeout_seconds) json_set(out, "timeoutSeconds", json_new_int(mem, *in->timeout_seconds));
    return out;
}

static inline bool deployment_v1_grpc_action_read(deployment_v1_reader *in, const json *value, deployment_v1_grpc_action *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "port");
    if (!deployment_v1_int32_read(in, value, &out->port)) return deployment_v1_in_field(in, "port");
    value = json_get(object, "service");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->service)) return deployment_v1_in_field(in, "service");
    return true;
}

static inline const json *deployment_v1_grpc_action_to_json(oarlock_mem *mem, const deployment_v1_grpc_action *in) {
    json *out = json_new_object(mem);
    json_set(out, "port", json_new_int(mem, in->port));
    if (in->service) json_set(out, "service", json_new_text(mem, in->service));
    return out;
}

static inline bool deployment_v1_container_port_read(deployment_v1_reader *in, const json *value, deployment_v1_container_port *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "containerPort");
    if (!deployment_v1_int32_read(in, value, &out->container_port)) return deployment_v1_in_field(in, "containerPort");
    value = json_get(object, "hostIP");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->host_ip)) return deployment_v1_in_field(in, "hostIP");
    value = json_get(object, "hostPort");
    if (deployment_v1_has(value) && !(out->host_port = oarlock_alloc(in->mem, sizeof *out->host_port), deployment_v1_int32_read(in, value, out->host_port))) return deployment_v1_in_field(in, "hostPort");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "protocol");
    if (deployment_v1_has(value) && !deployment_v1_container_port_protocol_read(in, value, &out->protocol)) return deployment_v1_in_field(in, "protocol");
    return true;
}

static inline const json *deployment_v1_container_port_to_json(oarlock_mem *mem, const deployment_v1_container_port *in) {
    json *out = json_new_object(mem);
    json_set(out, "containerPort", json_new_int(mem, in->container_port));
    if (in->host_ip) json_set(out, "hostIP", json_new_text(mem, in->host_ip));
    if (in->host_port) json_set(out, "hostPort", json_new_int(mem, *in->host_port));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->protocol) json_set(out, "protocol", json_new_text(mem, deployment_v1_container_port_protocol_text(in->protocol)));
    return out;
}

static inline bool deployment_v1_container_resize_policy_read(deployment_v1_reader *in, const json *value, deployment_v1_container_resize_policy *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "resourceName");
    if (!deployment_v1_string_read(in, value, &out->resource_name)) return deployment_v1_in_field(in, "resourceName");
    value = json_get(object, "restartPolicy");
    if (!deployment_v1_string_read(in, value, &out->restart_policy)) return deployment_v1_in_field(in, "restartPolicy");
    return true;
}

static inline const json *deployment_v1_container_resize_policy_to_json(oarlock_mem *mem, const deployment_v1_container_resize_policy *in) {
    json *out = json_new_object(mem);
    json_set(out, "resourceName", json_new_text(mem, in->resource_name));
    json_set(out, "restartPolicy", json_new_text(mem, in->restart_policy));
    return out;
}

static inline bool deployment_v1_resource_requirements_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_requirements *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "claims");
    if (deployment_v1_has(value) && !deployment_v1_resource_claim_list_read(in, value, &out->claims)) return deployment_v1_in_field(in, "claims");
    value = json_get(object, "limits");
    if (deployment_v1_has(value) && !deployment_v1_int_or_string_map_read(in, value, &out->limits)) return deployment_v1_in_field(in, "limits");
    value = json_get(object, "requests");
    if (deployment_v1_has(value) && !deployment_v1_int_or_string_map_read(in, value, &out->requests)) return deployment_v1_in_field(in, "requests");
    return true;
}

static inline const json *deployment_v1_resource_requirements_to_json(oarlock_mem *mem, const deployment_v1_resource_requirements *in) {
    json *out = json_new_object(mem);
    if (in->claims.items) json_set(out, "claims", deployment_v1_resource_claim_list_to_json(mem, &in->claims));
    if (in->limits.items) json_set(out, "limits", deployment_v1_int_or_string_map_to_json(mem, &in->limits));
    if (in->requests.items) json_set(out, "requests", deployment_v1_int_or_string_map_to_json(mem, &in->requests));
    return out;
}

static inline bool deployment_v1_resource_claim_read(deployment_v1_reader *in, const json *value, deployment_v1_resource_claim *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "request");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->request)) return deployment_v1_in_field(in, "request");
    return true;
}

static inline const json *deployment_v1_resource_claim_to_json(oarlock_mem *mem, const deployment_v1_resource_claim *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->request) json_set(out, "request", json_new_text(mem, in->request));
    return out;
}

static inline bool deployment_v1_container_restart_rule_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "action");
    if (!deployment_v1_string_read(in, value, &out->action)) return deployment_v1_in_field(in, "action");
    value = json_get(object, "exitCodes");
    if (deployment_v1_has(value) && !(out->exit_codes = oarlock_alloc(in->mem, sizeof *out->exit_codes), deployment_v1_container_restart_rule_on_exit_codes_read(in, value, out->exit_codes))) return deployment_v1_in_field(in, "exitCodes");
    return true;
}

static inline const json *deployment_v1_container_restart_rule_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule *in) {
    json *out = json_new_object(mem);
    json_set(out, "action", json_new_text(mem, in->action));
    if (in->exit_codes) json_set(out, "exitCodes", deployment_v1_container_restart_rule_on_exit_codes_to_json(mem, in->exit_codes));
    return out;
}

static inline bool deployment_v1_container_restart_rule_on_exit_codes_read(deployment_v1_reader *in, const json *value, deployment_v1_container_restart_rule_on_exit_codes *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "operator");
    if (!deployment_v1_string_read(in, value, &out->operator_)) return deployment_v1_in_field(in, "operator");
    value = json_get(object, "values");
    if (deployment_v1_has(value) && !deployment_v1_int32_list_read(in, value, &out->values)) return deployment_v1_in_field(in, "values");
    return true;
}

static inline const json *deployment_v1_container_restart_rule_on_exit_codes_to_json(oarlock_mem *mem, const deployment_v1_container_restart_rule_on_exit_codes *in) {
    json *out = json_new_object(mem);
    json_set(out, "operator", json_new_text(mem, in->operator_));
    if (in->values.items) json_set(out, "values", deployment_v1_int32_list_to_json(mem, &in->values));
    return out;
}

static inline bool deployment_v1_security_context_read(deployment_v1_reader *in, const json *value, deployment_v1_security_context *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "allowPrivilegeEscalation");
    if (deployment_v1_has(value) && !(out->allow_privilege_escalation = oarlock_alloc(in->mem, sizeof *out->allow_privilege_escalation), deployment_v1_bool_read(in, value, out->allow_privilege_escalation))) return deployment_v1_in_field(in, "allowPrivilegeEscalation");
    value = json_get(object, "appArmorProfile");
    if (deployment_v1_has(value) && !(out->app_armor_profile = oarlock_alloc(in->mem, sizeof *out->app_armor_profile), deployment_v1_app_armor_profile_read(in, value, out->app_armor_profile))) return deployment_v1_in_field(in, "appArmorProfile");
    value = json_get(object, "capabilities");
    if (deployment_v1_has(value) && !(out->capabilities = oarlock_alloc(in->mem, sizeof *out->capabilities), deployment_v1_capabilities_read(in, value, out->capabilities))) return deployment_v1_in_field(in, "capabilities");
    value = json_get(object, "privileged");
    if (deployment_v1_has(value) && !(out->privileged = oarlock_alloc(in->mem, sizeof *out->privileged), deployment_v1_bool_read(in, value, out->privileged))) return deployment_v1_in_field(in, "privileged");
    value = json_get(object, "procMount");
    if (deployment_v1_has(value) && !deployment_v1_security_context_proc_mount_read(in, value, &out->proc_mount)) return deployment_v1_in_field(in, "procMount");
    value = json_get(object, "readOnlyRootFilesystem");
    if (deployment_v1_has(value) && !(out->read_only_root_filesystem = oarlock_alloc(in->mem, sizeof *out->read_only_root_filesystem), deployment_v1_bool_read(in, value, out->read_only_root_filesystem))) return deployment_v1_in_field(in, "readOnlyRootFilesystem");
    value = json_get(object, "runAsGroup");
    if (deployment_v1_has(value) && !(out->run_as_group = oarlock_alloc(in->mem, sizeof *out->run_as_group), deployment_v1_int64_read(in, value, out->run_as_group))) return deployment_v1_in_field(in, "runAsGroup");
    value = json_get(object, "runAsNonRoot");
    if (deployment_v1_has(value) && !(out->run_as_non_root = oarlock_alloc(in->mem, sizeof *out->run_as_non_root), deployment_v1_bool_read(in, value, out->run_as_non_root))) return deployment_v1_in_field(in, "runAsNonRoot");
    value = json_get(object, "runAsUser");
    if (deployment_v1_has(value) && !(out->run_as_user = oarlock_alloc(in->mem, sizeof *out->run_as_user), deployment_v1_int64_read(in, value, out->run_as_user))) return deployment_v1_in_field(in, "runAsUser");
    value = json_get(object, "seLinuxOptions");
    if (deployment_v1_has(value) && !(out->se_linux_options = oarlock_alloc(in->mem, sizeof *out->se_linux_options), deployment_v1_se_linux_options_read(in, value, out->se_linux_options))) return deployment_v1_in_field(in, "seLinuxOptions");
    value = json_get(object, "seccompProfile");
    if (deployment_v1_has(value) && !(out->seccomp_profile = oarlock_alloc(in->mem, sizeof *out->seccomp_profile), deployment_v1_seccomp_profile_read(in, value, out->seccomp_profile))) return deployment_v1_in_field(in, "seccompProfile");
    value = json_get(object, "windowsOptions");
    if (deployment_v1_has(value) && !(out->windows_options = oarlock_alloc(in->mem, sizeof *out->windows_options), deployment_v1_windows_security_context_options_read(in, value, out->windows_options))) return deployment_v1_in_field(in, "windowsOptions");
    return true;
}

static inline const json *deployment_v1_security_context_to_json(oarlock_mem *mem, const deployment_v1_security_context *in) {
    json *out = json_new_object(mem);
    if (in->allow_privilege_escalation) json_set(out, "allowPrivilegeEscalation", json_new_bool(mem, *in->allow_privilege_escalation));
    if (in->app_armor_profile) json_set(out, "appArmorProfile", deployment_v1_app_armor_profile_to_json(mem, in->app_armor_profile));
    if (in->capabilities) json_set(out, "capabilities", deployment_v1_capabilities_to_json(mem, in->capabilities));
    if (in->privileged) json_set(out, "privileged", json_new_bool(mem, *in->privileged));
    if (in->proc_mount) json_set(out, "procMount", json_new_text(mem, deployment_v1_security_context_proc_mount_text(in->proc_mount)));
    if (in->read_only_root_filesystem) json_set(out, "readOnlyRootFilesystem", json_new_bool(mem, *in->read_only_root_filesystem));
    if (in->run_as_group) json_set(out, "runAsGroup", json_new_int(mem, *in->run_as_group));
    if (in->run_as_non_root) json_set(out, "runAsNonRoot", json_new_bool(mem, *in->run_as_non_root));
    if (in->run_as_user) json_set(out, "runAsUser", json_new_int(mem, *in->run_as_user));
    if (in->se_linux_options) json_set(out, "seLinuxOptions", deployment_v1_se_linux_options_to_json(mem, in->se_linux_options));
    if (in->seccomp_profile) json_set(out, "seccompProfile", deployment_v1_seccomp_profile_to_json(mem, in->seccomp_profile));
    if (in->windows_options) json_set(out, "windowsOptions", deployment_v1_windows_security_context_options_to_json(mem, in->windows_options));
    return out;
}

static inline bool deployment_v1_app_armor_profile_read(deployment_v1_reader *in, const json *value, deployment_v1_app_armor_profile *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "localhostProfile");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->localhost_profile)) return deployment_v1_in_field(in, "localhostProfile");
    value = json_get(object, "type");
    if (!deployment_v1_app_armor_profile_type_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    return true;
}

static inline const json *deployment_v1_app_armor_profile_to_json(oarlock_mem *mem, const deployment_v1_app_armor_profile *in) {
    json *out = json_new_object(mem);
    if (in->localhost_profile) json_set(out, "localhostProfile", json_new_text(mem, in->localhost_profile));
    json_set(out, "type", json_new_text(mem, deployment_v1_app_armor_profile_type_text(in->type)));
    return out;
}

static inline bool deployment_v1_capabilities_read(deployment_v1_reader *in, const json *value, deployment_v1_capabilities *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "add");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->add)) return deployment_v1_in_field(in, "add");
    value = json_get(object, "drop");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->drop)) return deployment_v1_in_field(in, "drop");
    return true;
}

static inline const json *deployment_v1_capabilities_to_json(oarlock_mem *mem, const deployment_v1_capabilities *in) {
    json *out = json_new_object(mem);
    if (in->add.items) json_set(out, "add", deployment_v1_string_list_to_json(mem, &in->add));
    if (in->drop.items) json_set(out, "drop", deployment_v1_string_list_to_json(mem, &in->drop));
    return out;
}

static inline bool deployment_v1_se_linux_options_read(deployment_v1_reader *in, const json *value, deployment_v1_se_linux_options *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "level");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->level)) return deployment_v1_in_field(in, "level");
    value = json_get(object, "role");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->role)) return deployment_v1_in_field(in, "role");
    value = json_get(object, "type");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    value = json_get(object, "user");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->user)) return deployment_v1_in_field(in, "user");
    return true;
}

static inline const json *deployment_v1_se_linux_options_to_json(oarlock_mem *mem, const deployment_v1_se_linux_options *in) {
    json *out = json_new_object(mem);
    if (in->level) json_set(out, "level", json_new_text(mem, in->level));
    if (in->role) json_set(out, "role", json_new_text(mem, in->role));
    if (in->type) json_set(out, "type", json_new_text(mem, in->type));
    if (in->user) json_set(out, "user", json_new_text(mem, in->user));
    return out;
}

static inline bool deployment_v1_seccomp_profile_read(deployment_v1_reader *in, const json *value, deployment_v1_seccomp_profile *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "localhostProfile");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->localhost_profile)) return deployment_v1_in_field(in, "localhostProfile");
    value = json_get(object, "type");
    if (!deployment_v1_seccomp_profile_type_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    return true;
}

static inline const json *deployment_v1_seccomp_profile_to_json(oarlock_mem *mem, const deployment_v1_seccomp_profile *in) {
    json *out = json_new_object(mem);
    if (in->localhost_profile) json_set(out, "localhostProfile", json_new_text(mem, in->localhost_profile));
    json_set(out, "type", json_new_text(mem, deployment_v1_seccomp_profile_type_text(in->type)));
    return out;
}

static inline bool deployment_v1_windows_security_context_options_read(deployment_v1_reader *in, const json *value, deployment_v1_windows_security_context_options *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "gmsaCredentialSpec");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->gmsa_credential_spec)) return deployment_v1_in_field(in, "gmsaCredentialSpec");
    value = json_get(object, "gmsaCredentialSpecName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->gmsa_credential_spec_name)) return deployment_v1_in_field(in, "gmsaCredentialSpecName");
    value = json_get(object, "hostProcess");
    if (deployment_v1_has(value) && !(out->host_process = oarlock_alloc(in->mem, sizeof *out->host_process), deployment_v1_bool_read(in, value, out->host_process))) return deployment_v1_in_field(in, "hostProcess");
    value = json_get(object, "runAsUserName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->run_as_user_name)) return deployment_v1_in_field(in, "runAsUserName");
    return true;
}

static inline const json *deployment_v1_windows_security_context_options_to_json(oarlock_mem *mem, const deployment_v1_windows_security_context_options *in) {
    json *out = json_new_object(mem);
    if (in->gmsa_credential_spec) json_set(out, "gmsaCredentialSpec", json_new_text(mem, in->gmsa_credential_spec));
    if (in->gmsa_credential_spec_name) json_set(out, "gmsaCredentialSpecName", json_new_text(mem, in->gmsa_credential_spec_name));
    if (in->host_process) json_set(out, "hostProcess", json_new_bool(mem, *in->host_process));
    if (in->run_as_user_name) json_set(out, "runAsUserName", json_new_text(mem, in->run_as_user_name));
    return out;
}

static inline bool deployment_v1_volume_device_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_device *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "devicePath");
    if (!deployment_v1_string_read(in, value, &out->device_path)) return deployment_v1_in_field(in, "devicePath");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    return true;
}

static inline const json *deployment_v1_volume_device_to_json(oarlock_mem *mem, const deployment_v1_volume_device *in) {
    json *out = json_new_object(mem);
    json_set(out, "devicePath", json_new_text(mem, in->device_path));
    json_set(out, "name", json_new_text(mem, in->name));
    return out;
}

static inline bool deployment_v1_volume_mount_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_mount *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "mountPath");
    if (!deployment_v1_string_read(in, value, &out->mount_path)) return deployment_v1_in_field(in, "mountPath");
    value = json_get(object, "mountPropagation");
    if (deployment_v1_has(value) && !deployment_v1_volume_mount_mount_propagation_read(in, value, &out->mount_propagation)) return deployment_v1_in_field(in, "mountPropagation");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "recursiveReadOnly");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->recursive_read_only)) return deployment_v1_in_field(in, "recursiveReadOnly");
    value = json_get(object, "subPath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->sub_path)) return deployment_v1_in_field(in, "subPath");
    value = json_get(object, "subPathExpr");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->sub_path_expr)) return deployment_v1_in_field(in, "subPathExpr");
    return true;
}

static inline const json *deployment_v1_volume_mount_to_json(oarlock_mem *mem, const deployment_v1_volume_mount *in) {
    json *out = json_new_object(mem);
    json_set(out, "mountPath", json_new_text(mem, in->mount_path));
    if (in->mount_propagation) json_set(out, "mountPropagation", json_new_text(mem, deployment_v1_volume_mount_mount_propagation_text(in->mount_propagation)));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->recursive_read_only) json_set(out, "recursiveReadOnly", json_new_text(mem, in->recursive_read_only));
    if (in->sub_path) json_set(out, "subPath", json_new_text(mem, in->sub_path));
    if (in->sub_path_expr) json_set(out, "subPathExpr", json_new_text(mem, in->sub_path_expr));
    return out;
}

static inline bool deployment_v1_pod_dns_config_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "nameservers");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->nameservers)) return deployment_v1_in_field(in, "nameservers");
    value = json_get(object, "options");
    if (deployment_v1_has(value) && !deployment_v1_pod_dns_config_option_list_read(in, value, &out->options)) return deployment_v1_in_field(in, "options");
    value = json_get(object, "searches");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->searches)) return deployment_v1_in_field(in, "searches");
    return true;
}

static inline const json *deployment_v1_pod_dns_config_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config *in) {
    json *out = json_new_object(mem);
    if (in->nameservers.items) json_set(out, "nameservers", deployment_v1_string_list_to_json(mem, &in->nameservers));
    if (in->options.items) json_set(out, "options", deployment_v1_pod_dns_config_option_list_to_json(mem, &in->options));
    if (in->searches.items) json_set(out, "searches", deployment_v1_string_list_to_json(mem, &in->searches));
    return out;
}

static inline bool deployment_v1_pod_dns_config_option_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_dns_config_option *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "value");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->value)) return deployment_v1_in_field(in, "value");
    return true;
}

static inline const json *deployment_v1_pod_dns_config_option_to_json(oarlock_mem *mem, const deployment_v1_pod_dns_config_option *in) {
    json *out = json_new_object(mem);
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->value) json_set(out, "value", json_new_text(mem, in->value));
    return out;
}

static inline bool deployment_v1_ephemeral_container_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_container *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "args");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->args)) return deployment_v1_in_field(in, "args");
    value = json_get(object, "command");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->command)) return deployment_v1_in_field(in, "command");
    value = json_get(object, "env");
    if (deployment_v1_has(value) && !deployment_v1_env_var_list_read(in, value, &out->env)) return deployment_v1_in_field(in, "env");
    value = json_get(object, "envFrom");
    if (deployment_v1_has(value) && !deployment_v1_env_from_source_list_read(in, value, &out->env_from)) return deployment_v1_in_field(in, "envFrom");
    value = json_get(object, "image");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->image)) return deployment_v1_in_field(in, "image");
    value = json_get(object, "imagePullPolicy");
    if (deployment_v1_has(value) && !deployment_v1_ephemeral_container_image_pull_policy_read(in, value, &out->image_pull_policy)) return deployment_v1_in_field(in, "imagePullPolicy");
    value = json_get(object, "lifecycle");
    if (deployment_v1_has(value) && !(out->lifecycle = oarlock_alloc(in->mem, sizeof *out->lifecycle), deployment_v1_lifecycle_read(in, value, out->lifecycle))) return deployment_v1_in_field(in, "lifecycle");
    value = json_get(object, "livenessProbe");
    if (deployment_v1_has(value) && !(out->liveness_probe = oarlock_alloc(in->mem, sizeof *out->liveness_probe), deployment_v1_probe_read(in, value, out->liveness_probe))) return deployment_v1_in_field(in, "livenessProbe");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "ports");
    if (deployment_v1_has(value) && !deployment_v1_container_port_list_read(in, value, &out->ports)) return deployment_v1_in_field(in, "ports");
    value = json_get(object, "readinessProbe");
    if (deployment_v1_has(value) && !(out->readiness_probe = oarlock_alloc(in->mem, sizeof *out->readiness_probe), deployment_v1_probe_read(in, value, out->readiness_probe))) return deployment_v1_in_field(in, "readinessProbe");
    value = json_get(object, "resizePolicy");
    if (deployment_v1_has(value) && !deployment_v1_container_resize_policy_list_read(in, value, &out->resize_policy)) return deployment_v1_in_field(in, "resizePolicy");
    value = json_get(object, "resources");
    if (deployment_v1_has(value) && !(out->resources = oarlock_alloc(in->mem, sizeof *out->resources), deployment_v1_resource_requirements_read(in, value, out->resources))) return deployment_v1_in_field(in, "resources");
    value = json_get(object, "restartPolicy");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->restart_policy)) return deployment_v1_in_field(in, "restartPolicy");
    value = json_get(object, "restartPolicyRules");
    if (deployment_v1_has(value) && !deployment_v1_container_restart_rule_list_read(in, value, &out->restart_policy_rules)) return deployment_v1_in_field(in, "restartPolicyRules");
    value = json_get(object, "securityContext");
    if (deployment_v1_has(value) && !(out->security_context = oarlock_alloc(in->mem, sizeof *out->security_context), deployment_v1_security_context_read(in, value, out->security_context))) return deployment_v1_in_field(in, "securityContext");
    value = json_get(object, "startupProbe");
    if (deployment_v1_has(value) && !(out->startup_probe = oarlock_alloc(in->mem, sizeof *out->startup_probe), deployment_v1_probe_read(in, value, out->startup_probe))) return deployment_v1_in_field(in, "startupProbe");
    value = json_get(object, "stdin");
    if (deployment_v1_has(value) && !(out->stdin_ = oarlock_alloc(in->mem, sizeof *out->stdin_), deployment_v1_bool_read(in, value, out->stdin_))) return deployment_v1_in_field(in, "stdin");
    value = json_get(object, "stdinOnce");
    if (deployment_v1_has(value) && !(out->stdin_once = oarlock_alloc(in->mem, sizeof *out->stdin_once), deployment_v1_bool_read(in, value, out->stdin_once))) return deployment_v1_in_field(in, "stdinOnce");
    value = json_get(object, "targetContainerName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->target_container_name)) return deployment_v1_in_field(in, "targetContainerName");
    value = json_get(object, "terminationMessagePath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->termination_message_path)) return deployment_v1_in_field(in, "terminationMessagePath");
    value = json_get(object, "terminationMessagePolicy");
    if (deployment_v1_has(value) && !deployment_v1_ephemeral_container_termination_message_policy_read(in, value, &out->termination_message_policy)) return deployment_v1_in_field(in, "terminationMessagePolicy");
    value = json_get(object, "tty");
    if (deployment_v1_has(value) && !(out->tty = oarlock_alloc(in->mem, sizeof *out->tty), deployment_v1_bool_read(in, value, out->tty))) return deployment_v1_in_field(in, "tty");
    value = json_get(object, "volumeDevices");
    if (deployment_v1_has(value) && !deployment_v1_volume_device_list_read(in, value, &out->volume_devices)) return deployment_v1_in_field(in, "volumeDevices");
    value = json_get(object, "volumeMounts");
    if (deployment_v1_has(value) && !deployment_v1_volume_mount_list_read(in, value, &out->volume_mounts)) return deployment_v1_in_field(in, "volumeMounts");
    value = json_get(object, "workingDir");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->working_dir)) return deployment_v1_in_field(in, "workingDir");
    return true;
}

static inline const json *deployment_v1_ephemeral_container_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_container *in) {
    json *out = json_new_object(mem);
    if (in->args.items) json_set(out, "args", deployment_v1_string_list_to_json(mem, &in->args));
    if (in->command.items) json_set(out, "command", deployment_v1_string_list_to_json(mem, &in->command));
    if (in->env.items) json_set(out, "env", deployment_v1_env_var_list_to_json(mem, &in->env));
    if (in->env_from.items) json_set(out, "envFrom", deployment_v1_env_from_source_list_to_json(mem, &in->env_from));
    if (in->image) json_set(out, "image", json_new_text(mem, in->image));
    if (in->image_pull_policy) json_set(out, "imagePullPolicy", json_new_text(mem, deployment_v1_ephemeral_container_image_pull_policy_text(in->image_pull_policy)));
    if (in->lifecycle) json_set(out, "lifecycle", deployment_v1_lifecycle_to_json(mem, in->lifecycle));
    if (in->liveness_probe) json_set(out, "livenessProbe", deployment_v1_probe_to_json(mem, in->liveness_probe));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->ports.items) json_set(out, "ports", deployment_v1_container_port_list_to_json(mem, &in->ports));
    if (in->readiness_probe) json_set(out, "readinessProbe", deployment_v1_probe_to_json(mem, in->readiness_probe));
    if (in->resize_policy.items) json_set(out, "resizePolicy", deployment_v1_container_resize_policy_list_to_json(mem, &in->resize_policy));
    if (in->resources) json_set(out, "resources", deployment_v1_resource_requirements_to_json(mem, in->resources));
    if (in->restart_policy) json_set(out, "restartPolicy", json_new_text(mem, in->restart_policy));
    if (in->restart_policy_rules.items) json_set(out, "restartPolicyRules", deployment_v1_container_restart_rule_list_to_json(mem, &in->restart_policy_rules));
    if (in->security_context) json_set(out, "securityContext", deployment_v1_security_context_to_json(mem, in->security_context));
    if (in->startup_probe) json_set(out, "startupProbe", deployment_v1_probe_to_json(mem, in->startup_probe));
    if (in->stdin_) json_set(out, "stdin", json_new_bool(mem, *in->stdin_));
    if (in->stdin_once) json_set(out, "stdinOnce", json_new_bool(mem, *in->stdin_once));
    if (in->target_container_name) json_set(out, "targetContainerName", json_new_text(mem, in->target_container_name));
    if (in->termination_message_path) json_set(out, "terminationMessagePath", json_new_text(mem, in->termination_message_path));
    if (in->termination_message_policy) json_set(out, "terminationMessagePolicy", json_new_text(mem, deployment_v1_ephemeral_container_termination_message_policy_text(in->termination_message_policy)));
    if (in->tty) json_set(out, "tty", json_new_bool(mem, *in->tty));
    if (in->volume_devices.items) json_set(out, "volumeDevices", deployment_v1_volume_device_list_to_json(mem, &in->volume_devices));
    if (in->volume_mounts.items) json_set(out, "volumeMounts", deployment_v1_volume_mount_list_to_json(mem, &in->volume_mounts));
    if (in->working_dir) json_set(out, "workingDir", json_new_text(mem, in->working_dir));
    return out;
}

static inline bool deployment_v1_host_alias_read(deployment_v1_reader *in, const json *value, deployment_v1_host_alias *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "hostnames");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->hostnames)) return deployment_v1_in_field(in, "hostnames");
    value = json_get(object, "ip");
    if (!deployment_v1_string_read(in, value, &out->ip)) return deployment_v1_in_field(in, "ip");
    return true;
}

static inline const json *deployment_v1_host_alias_to_json(oarlock_mem *mem, const deployment_v1_host_alias *in) {
    json *out = json_new_object(mem);
    if (in->hostnames.items) json_set(out, "hostnames", deployment_v1_string_list_to_json(mem, &in->hostnames));
    json_set(out, "ip", json_new_text(mem, in->ip));
    return out;
}

static inline bool deployment_v1_local_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_local_object_reference *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    return true;
}

static inline const json *deployment_v1_local_object_reference_to_json(oarlock_mem *mem, const deployment_v1_local_object_reference *in) {
    json *out = json_new_object(mem);
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    return out;
}

static inline bool deployment_v1_pod_os_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_os *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    return true;
}

static inline const json *deployment_v1_pod_os_to_json(oarlock_mem *mem, const deployment_v1_pod_os *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    return out;
}

static inline bool deployment_v1_pod_readiness_gate_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_readiness_gate *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "conditionType");
    if (!deployment_v1_string_read(in, value, &out->condition_type)) return deployment_v1_in_field(in, "conditionType");
    return true;
}

static inline const json *deployment_v1_pod_readiness_gate_to_json(oarlock_mem *mem, const deployment_v1_pod_readiness_gate *in) {
    json *out = json_new_object(mem);
    json_set(out, "conditionType", json_new_text(mem, in->condition_type));
    return out;
}

static inline bool deployment_v1_pod_resource_claim_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_resource_claim *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "resourceClaimName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->resource_claim_name)) return deployment_v1_in_field(in, "resourceClaimName");
    value = json_get(object, "resourceClaimTemplateName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->resource_claim_template_name)) return deployment_v1_in_field(in, "resourceClaimTemplateName");
    return true;
}

static inline const json *deployment_v1_pod_resource_claim_to_json(oarlock_mem *mem, const deployment_v1_pod_resource_claim *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->resource_claim_name) json_set(out, "resourceClaimName", json_new_text(mem, in->resource_claim_name));
    if (in->resource_claim_template_name) json_set(out, "resourceClaimTemplateName", json_new_text(mem, in->resource_claim_template_name));
    return out;
}

static inline bool deployment_v1_pod_scheduling_gate_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_gate *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    return true;
}

static inline const json *deployment_v1_pod_scheduling_gate_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_gate *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    return out;
}

static inline bool deployment_v1_pod_scheduling_group_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_scheduling_group *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "podGroupName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->pod_group_name)) return deployment_v1_in_field(in, "podGroupName");
    return true;
}

static inline const json *deployment_v1_pod_scheduling_group_to_json(oarlock_mem *mem, const deployment_v1_pod_scheduling_group *in) {
    json *out = json_new_object(mem);
    if (in->pod_group_name) json_set(out, "podGroupName", json_new_text(mem, in->pod_group_name));
    return out;
}

static inline bool deployment_v1_pod_security_context_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_security_context *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "appArmorProfile");
    if (deployment_v1_has(value) && !(out->app_armor_profile = oarlock_alloc(in->mem, sizeof *out->app_armor_profile), deployment_v1_app_armor_profile_read(in, value, out->app_armor_profile))) return deployment_v1_in_field(in, "appArmorProfile");
    value = json_get(object, "fsGroup");
    if (deployment_v1_has(value) && !(out->fs_group = oarlock_alloc(in->mem, sizeof *out->fs_group), deployment_v1_int64_read(in, value, out->fs_group))) return deployment_v1_in_field(in, "fsGroup");
    value = json_get(object, "fsGroupChangePolicy");
    if (deployment_v1_has(value) && !deployment_v1_pod_security_context_fs_group_change_policy_read(in, value, &out->fs_group_change_policy)) return deployment_v1_in_field(in, "fsGroupChangePolicy");
    value = json_get(object, "runAsGroup");
    if (deployment_v1_has(value) && !(out->run_as_group = oarlock_alloc(in->mem, sizeof *out->run_as_group), deployment_v1_int64_read(in, value, out->run_as_group))) return deployment_v1_in_field(in, "runAsGroup");
    value = json_get(object, "runAsNonRoot");
    if (deployment_v1_has(value) && !(out->run_as_non_root = oarlock_alloc(in->mem, sizeof *out->run_as_non_root), deployment_v1_bool_read(in, value, out->run_as_non_root))) return deployment_v1_in_field(in, "runAsNonRoot");
    value = json_get(object, "runAsUser");
    if (deployment_v1_has(value) && !(out->run_as_user = oarlock_alloc(in->mem, sizeof *out->run_as_user), deployment_v1_int64_read(in, value, out->run_as_user))) return deployment_v1_in_field(in, "runAsUser");
    value = json_get(object, "seLinuxChangePolicy");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->se_linux_change_policy)) return deployment_v1_in_field(in, "seLinuxChangePolicy");
    value = json_get(object, "seLinuxOptions");
    if (deployment_v1_has(value) && !(out->se_linux_options = oarlock_alloc(in->mem, sizeof *out->se_linux_options), deployment_v1_se_linux_options_read(in, value, out->se_linux_options))) return deployment_v1_in_field(in, "seLinuxOptions");
    value = json_get(object, "seccompProfile");
    if (deployment_v1_has(value) && !(out->seccomp_profile = oarlock_alloc(in->mem, sizeof *out->seccomp_profile), deployment_v1_seccomp_profile_read(in, value, out->seccomp_profile))) return deployment_v1_in_field(in, "seccompProfile");
    value = json_get(object, "supplementalGroups");
    if (deployment_v1_has(value) && !deployment_v1_int64_list_read(in, value, &out->supplemental_groups)) return deployment_v1_in_field(in, "supplementalGroups");
    value = json_get(object, "supplementalGroupsPolicy");
    if (deployment_v1_has(value) && !deployment_v1_pod_security_context_supplemental_groups_policy_read(in, value, &out->supplemental_groups_policy)) return deployment_v1_in_field(in, "supplementalGroupsPolicy");
    value = json_get(object, "sysctls");
    if (deployment_v1_has(value) && !deployment_v1_sysctl_list_read(in, value, &out->sysctls)) return deployment_v1_in_field(in, "sysctls");
    value = json_get(object, "windowsOptions");
    if (deployment_v1_has(value) && !(out->windows_options = oarlock_alloc(in->mem, sizeof *out->windows_options), deployment_v1_windows_security_context_options_read(in, value, out->windows_options))) return deployment_v1_in_field(in, "windowsOptions");
    return true;
}

static inline const json *deployment_v1_pod_security_context_to_json(oarlock_mem *mem, const deployment_v1_pod_security_context *in) {
    json *out = json_new_object(mem);
    if (in->app_armor_profile) json_set(out, "appArmorProfile", deployment_v1_app_armor_profile_to_json(mem, in->app_armor_profile));
    if (in->fs_group) json_set(out, "fsGroup", json_new_int(mem, *in->fs_group));
    if (in->fs_group_change_policy) json_set(out, "fsGroupChangePolicy", json_new_text(mem, deployment_v1_pod_security_context_fs_group_change_policy_text(in->fs_group_change_policy)));
    if (in->run_as_group) json_set(out, "runAsGroup", json_new_int(mem, *in->run_as_group));
    if (in->run_as_non_root) json_set(out, "runAsNonRoot", json_new_bool(mem, *in->run_as_non_root));
    if (in->run_as_user) json_set(out, "runAsUser", json_new_int(mem, *in->run_as_user));
    if (in->se_linux_change_policy) json_set(out, "seLinuxChangePolicy", json_new_text(mem, in->se_linux_change_policy));
    if (in->se_linux_options) json_set(out, "seLinuxOptions", deployment_v1_se_linux_options_to_json(mem, in->se_linux_options));
    if (in->seccomp_profile) json_set(out, "seccompProfile", deployment_v1_seccomp_profile_to_json(mem, in->seccomp_profile));
    if (in->supplemental_groups.items) json_set(out, "supplementalGroups", deployment_v1_int64_list_to_json(mem, &in->supplemental_groups));
    if (in->supplemental_groups_policy) json_set(out, "supplementalGroupsPolicy", json_new_text(mem, deployment_v1_pod_security_context_supplemental_groups_policy_text(in->supplemental_groups_policy)));
    if (in->sysctls.items) json_set(out, "sysctls", deployment_v1_sysctl_list_to_json(mem, &in->sysctls));
    if (in->windows_options) json_set(out, "windowsOptions", deployment_v1_windows_security_context_options_to_json(mem, in->windows_options));
    return out;
}

static inline bool deployment_v1_sysctl_read(deployment_v1_reader *in, const json *value, deployment_v1_sysctl *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "value");
    if (!deployment_v1_string_read(in, value, &out->value)) return deployment_v1_in_field(in, "value");
    return true;
}

static inline const json *deployment_v1_sysctl_to_json(oarlock_mem *mem, const deployment_v1_sysctl *in) {
    json *out = json_new_object(mem);
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "value", json_new_text(mem, in->value));
    return out;
}

static inline bool deployment_v1_toleration_read(deployment_v1_reader *in, const json *value, deployment_v1_toleration *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "effect");
    if (deployment_v1_has(value) && !deployment_v1_toleration_effect_read(in, value, &out->effect)) return deployment_v1_in_field(in, "effect");
    value = json_get(object, "key");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "operator");
    if (deployment_v1_has(value) && !deployment_v1_toleration_operator_read(in, value, &out->operator_)) return deployment_v1_in_field(in, "operator");
    value = json_get(object, "tolerationSeconds");
    if (deployment_v1_has(value) && !(out->toleration_seconds = oarlock_alloc(in->mem, sizeof *out->toleration_seconds), deployment_v1_int64_read(in, value, out->toleration_seconds))) return deployment_v1_in_field(in, "tolerationSeconds");
    value = json_get(object, "value");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->value)) return deployment_v1_in_field(in, "value");
    return true;
}

static inline const json *deployment_v1_toleration_to_json(oarlock_mem *mem, const deployment_v1_toleration *in) {
    json *out = json_new_object(mem);
    if (in->effect) json_set(out, "effect", json_new_text(mem, deployment_v1_toleration_effect_text(in->effect)));
    if (in->key) json_set(out, "key", json_new_text(mem, in->key));
    if (in->operator_) json_set(out, "operator", json_new_text(mem, deployment_v1_toleration_operator_text(in->operator_)));
    if (in->toleration_seconds) json_set(out, "tolerationSeconds", json_new_int(mem, *in->toleration_seconds));
    if (in->value) json_set(out, "value", json_new_text(mem, in->value));
    return out;
}

static inline bool deployment_v1_topology_spread_constraint_read(deployment_v1_reader *in, const json *value, deployment_v1_topology_spread_constraint *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "labelSelector");
    if (deployment_v1_has(value) && !(out->label_selector = oarlock_alloc(in->mem, sizeof *out->label_selector), deployment_v1_label_selector_read(in, value, out->label_selector))) return deployment_v1_in_field(in, "labelSelector");
    value = json_get(object, "matchLabelKeys");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->match_label_keys)) return deployment_v1_in_field(in, "matchLabelKeys");
    value = json_get(object, "maxSkew");
    if (!deployment_v1_int32_read(in, value, &out->max_skew)) return deployment_v1_in_field(in, "maxSkew");
    value = json_get(object, "minDomains");
    if (deployment_v1_has(value) && !(out->min_domains = oarlock_alloc(in->mem, sizeof *out->min_domains), deployment_v1_int32_read(in, value, out->min_domains))) return deployment_v1_in_field(in, "minDomains");
    value = json_get(object, "nodeAffinityPolicy");
    if (deployment_v1_has(value) && !deployment_v1_topology_spread_constraint_node_affinity_policy_read(in, value, &out->node_affinity_policy)) return deployment_v1_in_field(in, "nodeAffinityPolicy");
    value = json_get(object, "nodeTaintsPolicy");
    if (deployment_v1_has(value) && !deployment_v1_topology_spread_constraint_node_taints_policy_read(in, value, &out->node_taints_policy)) return deployment_v1_in_field(in, "nodeTaintsPolicy");
    value = json_get(object, "topologyKey");
    if (!deployment_v1_string_read(in, value, &out->topology_key)) return deployment_v1_in_field(in, "topologyKey");
    value = json_get(object, "whenUnsatisfiable");
    if (!deployment_v1_topology_spread_constraint_when_unsatisfiable_read(in, value, &out->when_unsatisfiable)) return deployment_v1_in_field(in, "whenUnsatisfiable");
    return true;
}

static inline const json *deployment_v1_topology_spread_constraint_to_json(oarlock_mem *mem, const deployment_v1_topology_spread_constraint *in) {
    json *out = json_new_object(mem);
    if (in->label_selector) json_set(out, "labelSelector", deployment_v1_label_selector_to_json(mem, in->label_selector));
    if (in->match_label_keys.items) json_set(out, "matchLabelKeys", deployment_v1_string_list_to_json(mem, &in->match_label_keys));
    json_set(out, "maxSkew", json_new_int(mem, in->max_skew));
    if (in->min_domains) json_set(out, "minDomains", json_new_int(mem, *in->min_domains));
    if (in->node_affinity_policy) json_set(out, "nodeAffinityPolicy", json_new_text(mem, deployment_v1_topology_spread_constraint_node_affinity_policy_text(in->node_affinity_policy)));
    if (in->node_taints_policy) json_set(out, "nodeTaintsPolicy", json_new_text(mem, deployment_v1_topology_spread_constraint_node_taints_policy_text(in->node_taints_policy)));
    json_set(out, "topologyKey", json_new_text(mem, in->topology_key));
    json_set(out, "whenUnsatisfiable", json_new_text(mem, deployment_v1_topology_spread_constraint_when_unsatisfiable_text(in->when_unsatisfiable)));
    return out;
}

static inline bool deployment_v1_volume_read(deployment_v1_reader *in, const json *value, deployment_v1_volume *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "awsElasticBlockStore");
    if (deployment_v1_has(value) && !(out->aws_elastic_block_store = oarlock_alloc(in->mem, sizeof *out->aws_elastic_block_store), deployment_v1_aws_elastic_block_store_volume_source_read(in, value, out->aws_elastic_block_store))) return deployment_v1_in_field(in, "awsElasticBlockStore");
    value = json_get(object, "azureDisk");
    if (deployment_v1_has(value) && !(out->azure_disk = oarlock_alloc(in->mem, sizeof *out->azure_disk), deployment_v1_azure_disk_volume_source_read(in, value, out->azure_disk))) return deployment_v1_in_field(in, "azureDisk");
    value = json_get(object, "azureFile");
    if (deployment_v1_has(value) && !(out->azure_file = oarlock_alloc(in->mem, sizeof *out->azure_file), deployment_v1_azure_file_volume_source_read(in, value, out->azure_file))) return deployment_v1_in_field(in, "azureFile");
    value = json_get(object, "cephfs");
    if (deployment_v1_has(value) && !(out->cephfs = oarlock_alloc(in->mem, sizeof *out->cephfs), deployment_v1_ceph_fs_volume_source_read(in, value, out->cephfs))) return deployment_v1_in_field(in, "cephfs");
    value = json_get(object, "cinder");
    if (deployment_v1_has(value) && !(out->cinder = oarlock_alloc(in->mem, sizeof *out->cinder), deployment_v1_cinder_volume_source_read(in, value, out->cinder))) return deployment_v1_in_field(in, "cinder");
    value = json_get(object, "configMap");
    if (deployment_v1_has(value) && !(out->config_map = oarlock_alloc(in->mem, sizeof *out->config_map), deployment_v1_config_map_volume_source_read(in, value, out->config_map))) return deployment_v1_in_field(in, "configMap");
    value = json_get(object, "csi");
    if (deployment_v1_has(value) && !(out->csi = oarlock_alloc(in->mem, sizeof *out->csi), deployment_v1_csi_volume_source_read(in, value, out->csi))) return deployment_v1_in_field(in, "csi");
    value = json_get(object, "downwardAPI");
    if (deployment_v1_has(value) && !(out->downward_api = oarlock_alloc(in->mem, sizeof *out->downward_api), deployment_v1_downward_api_volume_source_read(in, value, out->downward_api))) return deployment_v1_in_field(in, "downwardAPI");
    value = json_get(object, "emptyDir");
    if (deployment_v1_has(value) && !(out->empty_dir = oarlock_alloc(in->mem, sizeof *out->empty_dir), deployment_v1_empty_dir_volume_source_read(in, value, out->empty_dir))) return deployment_v1_in_field(in, "emptyDir");
    value = json_get(object, "ephemeral");
    if (deployment_v1_has(value) && !(out->ephemeral = oarlock_alloc(in->mem, sizeof *out->ephemeral), deployment_v1_ephemeral_volume_source_read(in, value, out->ephemeral))) return deployment_v1_in_field(in, "ephemeral");
    value = json_get(object, "fc");
    if (deployment_v1_has(value) && !(out->fc = oarlock_alloc(in->mem, sizeof *out->fc), deployment_v1_fc_volume_source_read(in, value, out->fc))) return deployment_v1_in_field(in, "fc");
    value = json_get(object, "flexVolume");
    if (deployment_v1_has(value) && !(out->flex_volume = oarlock_alloc(in->mem, sizeof *out->flex_volume), deployment_v1_flex_volume_source_read(in, value, out->flex_volume))) return deployment_v1_in_field(in, "flexVolume");
    value = json_get(object, "flocker");
    if (deployment_v1_has(value) && !(out->flocker = oarlock_alloc(in->mem, sizeof *out->flocker), deployment_v1_flocker_volume_source_read(in, value, out->flocker))) return deployment_v1_in_field(in, "flocker");
    value = json_get(object, "gcePersistentDisk");
    if (deployment_v1_has(value) && !(out->gce_persistent_disk = oarlock_alloc(in->mem, sizeof *out->gce_persistent_disk), deployment_v1_gce_persistent_disk_volume_source_read(in, value, out->gce_persistent_disk))) return deployment_v1_in_field(in, "gcePersistentDisk");
    value = json_get(object, "gitRepo");
    if (deployment_v1_has(value) && !(out->git_repo = oarlock_alloc(in->mem, sizeof *out->git_repo), deployment_v1_git_repo_volume_source_read(in, value, out->git_repo))) return deployment_v1_in_field(in, "gitRepo");
    value = json_get(object, "glusterfs");
    if (deployment_v1_has(value) && !(out->glusterfs = oarlock_alloc(in->mem, sizeof *out->glusterfs), deployment_v1_glusterfs_volume_source_read(in, value, out->glusterfs))) return deployment_v1_in_field(in, "glusterfs");
    value = json_get(object, "hostPath");
    if (deployment_v1_has(value) && !(out->host_path = oarlock_alloc(in->mem, sizeof *out->host_path), deployment_v1_host_path_volume_source_read(in, value, out->host_path))) return deployment_v1_in_field(in, "hostPath");
    value = json_get(object, "image");
    if (deployment_v1_has(value) && !(out->image = oarlock_alloc(in->mem, sizeof *out->image), deployment_v1_image_volume_source_read(in, value, out->image))) return deployment_v1_in_field(in, "image");
    value = json_get(object, "iscsi");
    if (deployment_v1_has(value) && !(out->iscsi = oarlock_alloc(in->mem, sizeof *out->iscsi), deployment_v1_iscsi_volume_source_read(in, value, out->iscsi))) return deployment_v1_in_field(in, "iscsi");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "nfs");
    if (deployment_v1_has(value) && !(out->nfs = oarlock_alloc(in->mem, sizeof *out->nfs), deployment_v1_nfs_volume_source_read(in, value, out->nfs))) return deployment_v1_in_field(in, "nfs");
    value = json_get(object, "persistentVolumeClaim");
    if (deployment_v1_has(value) && !(out->persistent_volume_claim = oarlock_alloc(in->mem, sizeof *out->persistent_volume_claim), deployment_v1_persistent_volume_claim_volume_source_read(in, value, out->persistent_volume_claim))) return deployment_v1_in_field(in, "persistentVolumeClaim");
    value = json_get(object, "photonPersistentDisk");
    if (deployment_v1_has(value) && !(out->photon_persistent_disk = oarlock_alloc(in->mem, sizeof *out->photon_persistent_disk), deployment_v1_photon_persistent_disk_volume_source_read(in, value, out->photon_persistent_disk))) return deployment_v1_in_field(in, "photonPersistentDisk");
    value = json_get(object, "portworxVolume");
    if (deployment_v1_has(value) && !(out->portworx_volume = oarlock_alloc(in->mem, sizeof *out->portworx_volume), deployment_v1_portworx_volume_source_read(in, value, out->portworx_volume))) return deployment_v1_in_field(in, "portworxVolume");
    value = json_get(object, "projected");
    if (deployment_v1_has(value) && !(out->projected = oarlock_alloc(in->mem, sizeof *out->projected), deployment_v1_projected_volume_source_read(in, value, out->projected))) return deployment_v1_in_field(in, "projected");
    value = json_get(object, "quobyte");
    if (deployment_v1_has(value) && !(out->quobyte = oarlock_alloc(in->mem, sizeof *out->quobyte), deployment_v1_quobyte_volume_source_read(in, value, out->quobyte))) return deployment_v1_in_field(in, "quobyte");
    value = json_get(object, "rbd");
    if (deployment_v1_has(value) && !(out->rbd = oarlock_alloc(in->mem, sizeof *out->rbd), deployment_v1_rbd_volume_source_read(in, value, out->rbd))) return deployment_v1_in_field(in, "rbd");
    value = json_get(object, "scaleIO");
    if (deployment_v1_has(value) && !(out->scale_io = oarlock_alloc(in->mem, sizeof *out->scale_io), deployment_v1_scale_io_volume_source_read(in, value, out->scale_io))) return deployment_v1_in_field(in, "scaleIO");
    value = json_get(object, "secret");
    if (deployment_v1_has(value) && !(out->secret = oarlock_alloc(in->mem, sizeof *out->secret), deployment_v1_secret_volume_source_read(in, value, out->secret))) return deployment_v1_in_field(in, "secret");
    value = json_get(object, "storageos");
    if (deployment_v1_has(value) && !(out->storageos = oarlock_alloc(in->mem, sizeof *out->storageos), deployment_v1_storage_os_volume_source_read(in, value, out->storageos))) return deployment_v1_in_field(in, "storageos");
    value = json_get(object, "vsphereVolume");
    if (deployment_v1_has(value) && !(out->vsphere_volume = oarlock_alloc(in->mem, sizeof *out->vsphere_volume), deployment_v1_vsphere_virtual_disk_volume_source_read(in, value, out->vsphere_volume))) return deployment_v1_in_field(in, "vsphereVolume");
    return true;
}

static inline const json *deployment_v1_volume_to_json(oarlock_mem *mem, const deployment_v1_volume *in) {
    json *out = json_new_object(mem);
    if (in->aws_elastic_block_store) json_set(out, "awsElasticBlockStore", deployment_v1_aws_elastic_block_store_volume_source_to_json(mem, in->aws_elastic_block_store));
    if (in->azure_disk) json_set(out, "azureDisk", deployment_v1_azure_disk_volume_source_to_json(mem, in->azure_disk));
    if (in->azure_file) json_set(out, "azureFile", deployment_v1_azure_file_volume_source_to_json(mem, in->azure_file));
    if (in->cephfs) json_set(out, "cephfs", deployment_v1_ceph_fs_volume_source_to_json(mem, in->cephfs));
    if (in->cinder) json_set(out, "cinder", deployment_v1_cinder_volume_source_to_json(mem, in->cinder));
    if (in->config_map) json_set(out, "configMap", deployment_v1_config_map_volume_source_to_json(mem, in->config_map));
    if (in->csi) json_set(out, "csi", deployment_v1_csi_volume_source_to_json(mem, in->csi));
    if (in->downward_api) json_set(out, "downwardAPI", deployment_v1_downward_api_volume_source_to_json(mem, in->downward_api));
    if (in->empty_dir) json_set(out, "emptyDir", deployment_v1_empty_dir_volume_source_to_json(mem, in->empty_dir));
    if (in->ephemeral) json_set(out, "ephemeral", deployment_v1_ephemeral_volume_source_to_json(mem, in->ephemeral));
    if (in->fc) json_set(out, "fc", deployment_v1_fc_volume_source_to_json(mem, in->fc));
    if (in->flex_volume) json_set(out, "flexVolume", deployment_v1_flex_volume_source_to_json(mem, in->flex_volume));
    if (in->flocker) json_set(out, "flocker", deployment_v1_flocker_volume_source_to_json(mem, in->flocker));
    if (in->gce_persistent_disk) json_set(out, "gcePersistentDisk", deployment_v1_gce_persistent_disk_volume_source_to_json(mem, in->gce_persistent_disk));
    if (in->git_repo) json_set(out, "gitRepo", deployment_v1_git_repo_volume_source_to_json(mem, in->git_repo));
    if (in->glusterfs) json_set(out, "glusterfs", deployment_v1_glusterfs_volume_source_to_json(mem, in->glusterfs));
    if (in->host_path) json_set(out, "hostPath", deployment_v1_host_path_volume_source_to_json(mem, in->host_path));
    if (in->image) json_set(out, "image", deployment_v1_image_volume_source_to_json(mem, in->image));
    if (in->iscsi) json_set(out, "iscsi", deployment_v1_iscsi_volume_source_to_json(mem, in->iscsi));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->nfs) json_set(out, "nfs", deployment_v1_nfs_volume_source_to_json(mem, in->nfs));
    if (in->persistent_volume_claim) json_set(out, "persistentVolumeClaim", deployment_v1_persistent_volume_claim_volume_source_to_json(mem, in->persistent_volume_claim));
    if (in->photon_persistent_disk) json_set(out, "photonPersistentDisk", deployment_v1_photon_persistent_disk_volume_source_to_json(mem, in->photon_persistent_disk));
    if (in->portworx_volume) json_set(out, "portworxVolume", deployment_v1_portworx_volume_source_to_json(mem, in->portworx_volume));
    if (in->projected) json_set(out, "projected", deployment_v1_projected_volume_source_to_json(mem, in->projected));
    if (in->quobyte) json_set(out, "quobyte", deployment_v1_quobyte_volume_source_to_json(mem, in->quobyte));
    if (in->rbd) json_set(out, "rbd", deployment_v1_rbd_volume_source_to_json(mem, in->rbd));
    if (in->scale_io) json_set(out, "scaleIO", deployment_v1_scale_io_volume_source_to_json(mem, in->scale_io));
    if (in->secret) json_set(out, "secret", deployment_v1_secret_volume_source_to_json(mem, in->secret));
    if (in->storageos) json_set(out, "storageos", deployment_v1_storage_os_volume_source_to_json(mem, in->storageos));
    if (in->vsphere_volume) json_set(out, "vsphereVolume", deployment_v1_vsphere_virtual_disk_volume_source_to_json(mem, in->vsphere_volume));
    return out;
}

static inline bool deployment_v1_aws_elastic_block_store_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_aws_elastic_block_store_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "partition");
    if (deployment_v1_has(value) && !(out->partition = oarlock_alloc(in->mem, sizeof *out->partition), deployment_v1_int32_read(in, value, out->partition))) return deployment_v1_in_field(in, "partition");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "volumeID");
    if (!deployment_v1_string_read(in, value, &out->volume_id)) return deployment_v1_in_field(in, "volumeID");
    return true;
}

static inline const json *deployment_v1_aws_elastic_block_store_volume_source_to_json(oarlock_mem *mem, const deployment_v1_aws_elastic_block_store_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->partition) json_set(out, "partition", json_new_int(mem, *in->partition));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "volumeID", json_new_text(mem, in->volume_id));
    return out;
}

static inline bool deployment_v1_azure_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_disk_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "cachingMode");
    if (deployment_v1_has(value) && !deployment_v1_azure_disk_volume_source_caching_mode_read(in, value, &out->caching_mode)) return deployment_v1_in_field(in, "cachingMode");
    value = json_get(object, "diskName");
    if (!deployment_v1_string_read(in, value, &out->disk_name)) return deployment_v1_in_field(in, "diskName");
    value = json_get(object, "diskURI");
    if (!deployment_v1_string_read(in, value, &out->disk_uri)) return deployment_v1_in_field(in, "diskURI");
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "kind");
    if (deployment_v1_has(value) && !deployment_v1_azure_disk_volume_source_kind_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    return true;
}

static inline const json *deployment_v1_azure_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_azure_disk_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->caching_mode) json_set(out, "cachingMode", json_new_text(mem, deployment_v1_azure_disk_volume_source_caching_mode_text(in->caching_mode)));
    json_set(out, "diskName", json_new_text(mem, in->disk_name));
    json_set(out, "diskURI", json_new_text(mem, in->disk_uri));
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->kind) json_set(out, "kind", json_new_text(mem, deployment_v1_azure_disk_volume_source_kind_text(in->kind)));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    return out;
}

static inline bool deployment_v1_azure_file_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_azure_file_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretName");
    if (!deployment_v1_string_read(in, value, &out->secret_name)) return deployment_v1_in_field(in, "secretName");
    value = json_get(object, "shareName");
    if (!deployment_v1_string_read(in, value, &out->share_name)) return deployment_v1_in_field(in, "shareName");
    return true;
}

static inline const json *deployment_v1_azure_file_volume_source_to_json(oarlock_mem *mem, const deployment_v1_azure_file_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "secretName", json_new_text(mem, in->secret_name));
    json_set(out, "shareName", json_new_text(mem, in->share_name));
    return out;
}

static inline bool deployment_v1_ceph_fs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_ceph_fs_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "monitors");
    if (!deployment_v1_is_null(value) && !deployment_v1_string_list_read(in, value, &out->monitors)) return deployment_v1_in_field(in, "monitors");
    value = json_get(object, "path");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretFile");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->secret_file)) return deployment_v1_in_field(in, "secretFile");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "user");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->user)) return deployment_v1_in_field(in, "user");
    return true;
}

static inline const json *deployment_v1_ceph_fs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_ceph_fs_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "monitors", deployment_v1_string_list_to_json(mem, &in->monitors));
    if (in->path) json_set(out, "path", json_new_text(mem, in->path));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_file) json_set(out, "secretFile", json_new_text(mem, in->secret_file));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    if (in->user) json_set(out, "user", json_new_text(mem, in->user));
    return out;
}

static inline bool deployment_v1_cinder_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_cinder_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "volumeID");
    if (!deployment_v1_string_read(in, value, &out->volume_id)) return deployment_v1_in_field(in, "volumeID");
    return true;
}

static inline const json *deployment_v1_cinder_volume_source_to_json(oarlock_mem *mem, const deployment_v1_cinder_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    json_set(out, "volumeID", json_new_text(mem, in->volume_id));
    return out;
}

static inline bool deployment_v1_config_map_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "defaultMode");
    if (deployment_v1_has(value) && !(out->default_mode = oarlock_alloc(in->mem, sizeof *out->default_mode), deployment_v1_int32_read(in, value, out->default_mode))) return deployment_v1_in_field(in, "defaultMode");
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_key_to_path_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_config_map_volume_source_to_json(oarlock_mem *mem, const deployment_v1_config_map_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->default_mode) json_set(out, "defaultMode", json_new_int(mem, *in->default_mode));
    if (in->items.items) json_set(out, "items", deployment_v1_key_to_path_list_to_json(mem, &in->items));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_key_to_path_read(deployment_v1_reader *in, const json *value, deployment_v1_key_to_path *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "key");
    if (!deployment_v1_string_read(in, value, &out->key)) return deployment_v1_in_field(in, "key");
    value = json_get(object, "mode");
    if (deployment_v1_has(value) && !(out->mode = oarlock_alloc(in->mem, sizeof *out->mode), deployment_v1_int32_read(in, value, out->mode))) return deployment_v1_in_field(in, "mode");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    return true;
}

static inline const json *deployment_v1_key_to_path_to_json(oarlock_mem *mem, const deployment_v1_key_to_path *in) {
    json *out = json_new_object(mem);
    json_set(out, "key", json_new_text(mem, in->key));
    if (in->mode) json_set(out, "mode", json_new_int(mem, *in->mode));
    json_set(out, "path", json_new_text(mem, in->path));
    return out;
}

static inline bool deployment_v1_csi_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_csi_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "driver");
    if (!deployment_v1_string_read(in, value, &out->driver)) return deployment_v1_in_field(in, "driver");
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "nodePublishSecretRef");
    if (deployment_v1_has(value) && !(out->node_publish_secret_ref = oarlock_alloc(in->mem, sizeof *out->node_publish_secret_ref), deployment_v1_local_object_reference_read(in, value, out->node_publish_secret_ref))) return deployment_v1_in_field(in, "nodePublishSecretRef");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "volumeAttributes");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->volume_attributes)) return deployment_v1_in_field(in, "volumeAttributes");
    return true;
}

static inline const json *deployment_v1_csi_volume_source_to_json(oarlock_mem *mem, const deployment_v1_csi_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "driver", json_new_text(mem, in->driver));
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->node_publish_secret_ref) json_set(out, "nodePublishSecretRef", deployment_v1_local_object_reference_to_json(mem, in->node_publish_secret_ref));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->volume_attributes.items) json_set(out, "volumeAttributes", deployment_v1_string_map_to_json(mem, &in->volume_attributes));
    return out;
}

static inline bool deployment_v1_downward_api_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "defaultMode");
    if (deployment_v1_has(value) && !(out->default_mode = oarlock_alloc(in->mem, sizeof *out->default_mode), deployment_v1_int32_read(in, value, out->default_mode))) return deployment_v1_in_field(in, "defaultMode");
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_downward_api_volume_file_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    return true;
}

static inline const json *deployment_v1_downward_api_volume_source_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->default_mode) json_set(out, "defaultMode", json_new_int(mem, *in->default_mode));
    if (in->items.items) json_set(out, "items", deployment_v1_downward_api_volume_file_list_to_json(mem, &in->items));
    return out;
}

static inline bool deployment_v1_downward_api_volume_file_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_volume_file *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fieldRef");
    if (deployment_v1_has(value) && !(out->field_ref = oarlock_alloc(in->mem, sizeof *out->field_ref), deployment_v1_object_field_selector_read(in, value, out->field_ref))) return deployment_v1_in_field(in, "fieldRef");
    value = json_get(object, "mode");
    if (deployment_v1_has(value) && !(out->mode = oarlock_alloc(in->mem, sizeof *out->mode), deployment_v1_int32_read(in, value, out->mode))) return deployment_v1_in_field(in, "mode");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "resourceFieldRef");
    if (deployment_v1_has(value) && !(out->resource_field_ref = oarlock_alloc(in->mem, sizeof *out->resource_field_ref), deployment_v1_resource_field_selector_read(in, value, out->resource_field_ref))) return deployment_v1_in_field(in, "resourceFieldRef");
    return true;
}

static inline const json *deployment_v1_downward_api_volume_file_to_json(oarlock_mem *mem, const deployment_v1_downward_api_volume_file *in) {
    json *out = json_new_object(mem);
    if (in->field_ref) json_set(out, "fieldRef", deployment_v1_object_field_selector_to_json(mem, in->field_ref));
    if (in->mode) json_set(out, "mode", json_new_int(mem, *in->mode));
    json_set(out, "path", json_new_text(mem, in->path));
    if (in->resource_field_ref) json_set(out, "resourceFieldRef", deployment_v1_resource_field_selector_to_json(mem, in->resource_field_ref));
    return out;
}

static inline bool deployment_v1_empty_dir_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_empty_dir_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "medium");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->medium)) return deployment_v1_in_field(in, "medium");
    value = json_get(object, "sizeLimit");
    if (deployment_v1_has(value) && !(out->size_limit = oarlock_alloc(in->mem, sizeof *out->size_limit), deployment_v1_int_or_string_read(in, value, out->size_limit))) return deployment_v1_in_field(in, "sizeLimit");
    return true;
}

static inline const json *deployment_v1_empty_dir_volume_source_to_json(oarlock_mem *mem, const deployment_v1_empty_dir_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->medium) json_set(out, "medium", json_new_text(mem, in->medium));
    if (in->size_limit) json_set(out, "sizeLimit", deployment_v1_int_or_string_write(mem, in->size_limit));
    return out;
}

static inline bool deployment_v1_ephemeral_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_ephemeral_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "volumeClaimTemplate");
    if (deployment_v1_has(value) && !(out->volume_claim_template = oarlock_alloc(in->mem, sizeof *out->volume_claim_template), deployment_v1_persistent_volume_claim_template_read(in, value, out->volume_claim_template))) return deployment_v1_in_field(in, "volumeClaimTemplate");
    return true;
}

static inline const json *deployment_v1_ephemeral_volume_source_to_json(oarlock_mem *mem, const deployment_v1_ephemeral_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->volume_claim_template) json_set(out, "volumeClaimTemplate", deployment_v1_persistent_volume_claim_template_to_json(mem, in->volume_claim_template));
    return out;
}

static inline bool deployment_v1_persistent_volume_claim_template_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_template *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "metadata");
    if (deployment_v1_has(value) && !(out->metadata = oarlock_alloc(in->mem, sizeof *out->metadata), deployment_v1_object_meta_read(in, value, out->metadata))) return deployment_v1_in_field(in, "metadata");
    value = json_get(object, "spec");
    if (!(out->spec = oarlock_alloc(in->mem, sizeof *out->spec), deployment_v1_persistent_volume_claim_spec_read(in, value, out->spec))) return deployment_v1_in_field(in, "spec");
    return true;
}

static inline const json *deployment_v1_persistent_volume_claim_template_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_template *in) {
    json *out = json_new_object(mem);
    if (in->metadata) json_set(out, "metadata", deployment_v1_object_meta_to_json(mem, in->metadata));
    json_set(out, "spec", in->spec ? deployment_v1_persistent_volume_claim_spec_to_json(mem, in->spec) : json_new_null(mem));
    return out;
}

static inline bool deployment_v1_persistent_volume_claim_spec_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_spec *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "accessModes");
    if (deployment_v1_has(value) && !deployment_v1_persistent_volume_claim_spec_access_modes_list_read(in, value, &out->access_modes)) return deployment_v1_in_field(in, "accessModes");
    value = json_get(object, "dataSource");
    if (deployment_v1_has(value) && !(out->data_source = oarlock_alloc(in->mem, sizeof *out->data_source), deployment_v1_typed_local_object_reference_read(in, value, out->data_source))) return deployment_v1_in_field(in, "dataSource");
    value = json_get(object, "dataSourceRef");
    if (deployment_v1_has(value) && !(out->data_source_ref = oarlock_alloc(in->mem, sizeof *out->data_source_ref), deployment_v1_typed_object_reference_read(in, value, out->data_source_ref))) return deployment_v1_in_field(in, "dataSourceRef");
    value = json_get(object, "resources");
    if (deployment_v1_has(value) && !(out->resources = oarlock_alloc(in->mem, sizeof *out->resources), deployment_v1_volume_resource_requirements_read(in, value, out->resources))) return deployment_v1_in_field(in, "resources");
    value = json_get(object, "selector");
    if (deployment_v1_has(value) && !(out->selector = oarlock_alloc(in->mem, sizeof *out->selector), deployment_v1_label_selector_read(in, value, out->selector))) return deployment_v1_in_field(in, "selector");
    value = json_get(object, "storageClassName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->storage_class_name)) return deployment_v1_in_field(in, "storageClassName");
    value = json_get(object, "volumeAttributesClassName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->volume_attributes_class_name)) return deployment_v1_in_field(in, "volumeAttributesClassName");
    value = json_get(object, "volumeMode");
    if (deployment_v1_has(value) && !deployment_v1_persistent_volume_claim_spec_volume_mode_read(in, value, &out->volume_mode)) return deployment_v1_in_field(in, "volumeMode");
    value = json_get(object, "volumeName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->volume_name)) return deployment_v1_in_field(in, "volumeName");
    return true;
}

static inline const json *deployment_v1_persistent_volume_claim_spec_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_spec *in) {
    json *out = json_new_object(mem);
    if (in->access_modes.items) json_set(out, "accessModes", deployment_v1_persistent_volume_claim_spec_access_modes_list_to_json(mem, &in->access_modes));
    if (in->data_source) json_set(out, "dataSource", deployment_v1_typed_local_object_reference_to_json(mem, in->data_source));
    if (in->data_source_ref) json_set(out, "dataSourceRef", deployment_v1_typed_object_reference_to_json(mem, in->data_source_ref));
    if (in->resources) json_set(out, "resources", deployment_v1_volume_resource_requirements_to_json(mem, in->resources));
    if (in->selector) json_set(out, "selector", deployment_v1_label_selector_to_json(mem, in->selector));
    if (in->storage_class_name) json_set(out, "storageClassName", json_new_text(mem, in->storage_class_name));
    if (in->volume_attributes_class_name) json_set(out, "volumeAttributesClassName", json_new_text(mem, in->volume_attributes_class_name));
    if (in->volume_mode) json_set(out, "volumeMode", json_new_text(mem, deployment_v1_persistent_volume_claim_spec_volume_mode_text(in->volume_mode)));
    if (in->volume_name) json_set(out, "volumeName", json_new_text(mem, in->volume_name));
    return out;
}

static inline bool deployment_v1_typed_local_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_typed_local_object_reference *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiGroup");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->api_group)) return deployment_v1_in_field(in, "apiGroup");
    value = json_get(object, "kind");
    if (!deployment_v1_string_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    return true;
}

static inline const json *deployment_v1_typed_local_object_reference_to_json(oarlock_mem *mem, const deployment_v1_typed_local_object_reference *in) {
    json *out = json_new_object(mem);
    if (in->api_group) json_set(out, "apiGroup", json_new_text(mem, in->api_group));
    json_set(out, "kind", json_new_text(mem, in->kind));
    json_set(out, "name", json_new_text(mem, in->name));
    return out;
}

static inline bool deployment_v1_typed_object_reference_read(deployment_v1_reader *in, const json *value, deployment_v1_typed_object_reference *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiGroup");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->api_group)) return deployment_v1_in_field(in, "apiGroup");
    value = json_get(object, "kind");
    if (!deployment_v1_string_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "namespace");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->namespace_)) return deployment_v1_in_field(in, "namespace");
    return true;
}

static inline const json *deployment_v1_typed_object_reference_to_json(oarlock_mem *mem, const deployment_v1_typed_object_reference *in) {
    json *out = json_new_object(mem);
    if (in->api_group) json_set(out, "apiGroup", json_new_text(mem, in->api_group));
    json_set(out, "kind", json_new_text(mem, in->kind));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->namespace_) json_set(out, "namespace", json_new_text(mem, in->namespace_));
    return out;
}

static inline bool deployment_v1_volume_resource_requirements_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_resource_requirements *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "limits");
    if (deployment_v1_has(value) && !deployment_v1_int_or_string_map_read(in, value, &out->limits)) return deployment_v1_in_field(in, "limits");
    value = json_get(object, "requests");
    if (deployment_v1_has(value) && !deployment_v1_int_or_string_map_read(in, value, &out->requests)) return deployment_v1_in_field(in, "requests");
    return true;
}

static inline const json *deployment_v1_volume_resource_requirements_to_json(oarlock_mem *mem, const deployment_v1_volume_resource_requirements *in) {
    json *out = json_new_object(mem);
    if (in->limits.items) json_set(out, "limits", deployment_v1_int_or_string_map_to_json(mem, &in->limits));
    if (in->requests.items) json_set(out, "requests", deployment_v1_int_or_string_map_to_json(mem, &in->requests));
    return out;
}

static inline bool deployment_v1_fc_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_fc_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "lun");
    if (deployment_v1_has(value) && !(out->lun = oarlock_alloc(in->mem, sizeof *out->lun), deployment_v1_int32_read(in, value, out->lun))) return deployment_v1_in_field(in, "lun");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "targetWWNs");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->target_wwns)) return deployment_v1_in_field(in, "targetWWNs");
    value = json_get(object, "wwids");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->wwids)) return deployment_v1_in_field(in, "wwids");
    return true;
}

static inline const json *deployment_v1_fc_volume_source_to_json(oarlock_mem *mem, const deployment_v1_fc_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->lun) json_set(out, "lun", json_new_int(mem, *in->lun));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->target_wwns.items) json_set(out, "targetWWNs", deployment_v1_string_list_to_json(mem, &in->target_wwns));
    if (in->wwids.items) json_set(out, "wwids", deployment_v1_string_list_to_json(mem, &in->wwids));
    return out;
}

static inline bool deployment_v1_flex_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_flex_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "driver");
    if (!deployment_v1_string_read(in, value, &out->driver)) return deployment_v1_in_field(in, "driver");
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "options");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->options)) return deployment_v1_in_field(in, "options");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    return true;
}

static inline const json *deployment_v1_flex_volume_source_to_json(oarlock_mem *mem, const deployment_v1_flex_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "driver", json_new_text(mem, in->driver));
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->options.items) json_set(out, "options", deployment_v1_string_map_to_json(mem, &in->options));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    return out;
}

static inline bool deployment_v1_flocker_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_flocker_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "datasetName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->dataset_name)) return deployment_v1_in_field(in, "datasetName");
    value = json_get(object, "datasetUUID");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->dataset_uuid)) return deployment_v1_in_field(in, "datasetUUID");
    return true;
}

static inline const json *deployment_v1_flocker_volume_source_to_json(oarlock_mem *mem, const deployment_v1_flocker_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->dataset_name) json_set(out, "datasetName", json_new_text(mem, in->dataset_name));
    if (in->dataset_uuid) json_set(out, "datasetUUID", json_new_text(mem, in->dataset_uuid));
    return out;
}

static inline bool deployment_v1_gce_persistent_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_gce_persistent_disk_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "partition");
    if (deployment_v1_has(value) && !(out->partition = oarlock_alloc(in->mem, sizeof *out->partition), deployment_v1_int32_read(in, value, out->partition))) return deployment_v1_in_field(in, "partition");
    value = json_get(object, "pdName");
    if (!deployment_v1_string_read(in, value, &out->pd_name)) return deployment_v1_in_field(in, "pdName");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    return true;
}

static inline const json *deployment_v1_gce_persistent_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_gce_persistent_disk_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->partition) json_set(out, "partition", json_new_int(mem, *in->partition));
    json_set(out, "pdName", json_new_text(mem, in->pd_name));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    return out;
}

static inline bool deployment_v1_git_repo_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_git_repo_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "directory");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->directory)) return deployment_v1_in_field(in, "directory");
    value = json_get(object, "repository");
    if (!deployment_v1_string_read(in, value, &out->repository)) return deployment_v1_in_field(in, "repository");
    value = json_get(object, "revision");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->revision)) return deployment_v1_in_field(in, "revision");
    return true;
}

static inline const json *deployment_v1_git_repo_volume_source_to_json(oarlock_mem *mem, const deployment_v1_git_repo_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->directory) json_set(out, "directory", json_new_text(mem, in->directory));
    json_set(out, "repository", json_new_text(mem, in->repository));
    if (in->revision) json_set(out, "revision", json_new_text(mem, in->revision));
    return out;
}

static inline bool deployment_v1_glusterfs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_glusterfs_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "endpoints");
    if (!deployment_v1_string_read(in, value, &out->endpoints)) return deployment_v1_in_field(in, "endpoints");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    return true;
}

static inline const json *deployment_v1_glusterfs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_glusterfs_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "endpoints", json_new_text(mem, in->endpoints));
    json_set(out, "path", json_new_text(mem, in->path));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    return out;
}

static inline bool deployment_v1_host_path_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_host_path_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "type");
    if (deployment_v1_has(value) && !deployment_v1_host_path_volume_source_type_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    return true;
}

static inline const json *deployment_v1_host_path_volume_source_to_json(oarlock_mem *mem, const deployment_v1_host_path_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "path", json_new_text(mem, in->path));
    if (in->type) json_set(out, "type", json_new_text(mem, deployment_v1_host_path_volume_source_type_text(in->type)));
    return out;
}

static inline bool deployment_v1_image_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_image_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "pullPolicy");
    if (deployment_v1_has(value) && !deployment_v1_image_volume_source_pull_policy_read(in, value, &out->pull_policy)) return deployment_v1_in_field(in, "pullPolicy");
    value = json_get(object, "reference");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->reference)) return deployment_v1_in_field(in, "reference");
    return true;
}

static inline const json *deployment_v1_image_volume_source_to_json(oarlock_mem *mem, const deployment_v1_image_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->pull_policy) json_set(out, "pullPolicy", json_new_text(mem, deployment_v1_image_volume_source_pull_policy_text(in->pull_policy)));
    if (in->reference) json_set(out, "reference", json_new_text(mem, in->reference));
    return out;
}

static inline bool deployment_v1_iscsi_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_iscsi_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "chapAuthDiscovery");
    if (deployment_v1_has(value) && !(out->chap_auth_discovery = oarlock_alloc(in->mem, sizeof *out->chap_auth_discovery), deployment_v1_bool_read(in, value, out->chap_auth_discovery))) return deployment_v1_in_field(in, "chapAuthDiscovery");
    value = json_get(object, "chapAuthSession");
    if (deployment_v1_has(value) && !(out->chap_auth_session = oarlock_alloc(in->mem, sizeof *out->chap_auth_session), deployment_v1_bool_read(in, value, out->chap_auth_session))) return deployment_v1_in_field(in, "chapAuthSession");
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "initiatorName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->initiator_name)) return deployment_v1_in_field(in, "initiatorName");
    value = json_get(object, "iqn");
    if (!deployment_v1_string_read(in, value, &out->iqn)) return deployment_v1_in_field(in, "iqn");
    value = json_get(object, "iscsiInterface");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->iscsi_interface)) return deployment_v1_in_field(in, "iscsiInterface");
    value = json_get(object, "lun");
    if (!deployment_v1_int32_read(in, value, &out->lun)) return deployment_v1_in_field(in, "lun");
    value = json_get(object, "portals");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->portals)) return deployment_v1_in_field(in, "portals");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "targetPortal");
    if (!deployment_v1_string_read(in, value, &out->target_portal)) return deployment_v1_in_field(in, "targetPortal");
    return true;
}

static inline const json *deployment_v1_iscsi_volume_source_to_json(oarlock_mem *mem, const deployment_v1_iscsi_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->chap_auth_discovery) json_set(out, "chapAuthDiscovery", json_new_bool(mem, *in->chap_auth_discovery));
    if (in->chap_auth_session) json_set(out, "chapAuthSession", json_new_bool(mem, *in->chap_auth_session));
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->initiator_name) json_set(out, "initiatorName", json_new_text(mem, in->initiator_name));
    json_set(out, "iqn", json_new_text(mem, in->iqn));
    if (in->iscsi_interface) json_set(out, "iscsiInterface", json_new_text(mem, in->iscsi_interface));
    json_set(out, "lun", json_new_int(mem, in->lun));
    if (in->portals.items) json_set(out, "portals", deployment_v1_string_list_to_json(mem, &in->portals));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    json_set(out, "targetPortal", json_new_text(mem, in->target_portal));
    return out;
}

static inline bool deployment_v1_nfs_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_nfs_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "server");
    if (!deployment_v1_string_read(in, value, &out->server)) return deployment_v1_in_field(in, "server");
    return true;
}

static inline const json *deployment_v1_nfs_volume_source_to_json(oarlock_mem *mem, const deployment_v1_nfs_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "path", json_new_text(mem, in->path));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "server", json_new_text(mem, in->server));
    return out;
}

static inline bool deployment_v1_persistent_volume_claim_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_persistent_volume_claim_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "claimName");
    if (!deployment_v1_string_read(in, value, &out->claim_name)) return deployment_v1_in_field(in, "claimName");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    return true;
}

static inline const json *deployment_v1_persistent_volume_claim_volume_source_to_json(oarlock_mem *mem, const deployment_v1_persistent_volume_claim_volume_source *in) {
    json *out = json_new_object(mem);
    json_set(out, "claimName", json_new_text(mem, in->claim_name));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    return out;
}

static inline bool deployment_v1_photon_persistent_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_photon_persistent_disk_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "pdID");
    if (!deployment_v1_string_read(in, value, &out->pd_id)) return deployment_v1_in_field(in, "pdID");
    return true;
}

static inline const json *deployment_v1_photon_persistent_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_photon_persistent_disk_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    json_set(out, "pdID", json_new_text(mem, in->pd_id));
    return out;
}

static inline bool deployment_v1_portworx_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_portworx_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "volumeID");
    if (!deployment_v1_string_read(in, value, &out->volume_id)) return deployment_v1_in_field(in, "volumeID");
    return true;
}

static inline const json *deployment_v1_portworx_volume_source_to_json(oarlock_mem *mem, const deployment_v1_portworx_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "volumeID", json_new_text(mem, in->volume_id));
    return out;
}

static inline bool deployment_v1_projected_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_projected_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "defaultMode");
    if (deployment_v1_has(value) && !(out->default_mode = oarlock_alloc(in->mem, sizeof *out->default_mode), deployment_v1_int32_read(in, value, out->default_mode))) return deployment_v1_in_field(in, "defaultMode");
    value = json_get(object, "sources");
    if (deployment_v1_has(value) && !deployment_v1_volume_projection_list_read(in, value, &out->sources)) return deployment_v1_in_field(in, "sources");
    return true;
}

static inline const json *deployment_v1_projected_volume_source_to_json(oarlock_mem *mem, const deployment_v1_projected_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->default_mode) json_set(out, "defaultMode", json_new_int(mem, *in->default_mode));
    if (in->sources.items) json_set(out, "sources", deployment_v1_volume_projection_list_to_json(mem, &in->sources));
    return out;
}

static inline bool deployment_v1_volume_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_volume_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "clusterTrustBundle");
    if (deployment_v1_has(value) && !(out->cluster_trust_bundle = oarlock_alloc(in->mem, sizeof *out->cluster_trust_bundle), deployment_v1_cluster_trust_bundle_projection_read(in, value, out->cluster_trust_bundle))) return deployment_v1_in_field(in, "clusterTrustBundle");
    value = json_get(object, "configMap");
    if (deployment_v1_has(value) && !(out->config_map = oarlock_alloc(in->mem, sizeof *out->config_map), deployment_v1_config_map_projection_read(in, value, out->config_map))) return deployment_v1_in_field(in, "configMap");
    value = json_get(object, "downwardAPI");
    if (deployment_v1_has(value) && !(out->downward_api = oarlock_alloc(in->mem, sizeof *out->downward_api), deployment_v1_downward_api_projection_read(in, value, out->downward_api))) return deployment_v1_in_field(in, "downwardAPI");
    value = json_get(object, "podCertificate");
    if (deployment_v1_has(value) && !(out->pod_certificate = oarlock_alloc(in->mem, sizeof *out->pod_certificate), deployment_v1_pod_certificate_projection_read(in, value, out->pod_certificate))) return deployment_v1_in_field(in, "podCertificate");
    value = json_get(object, "secret");
    if (deployment_v1_has(value) && !(out->secret = oarlock_alloc(in->mem, sizeof *out->secret), deployment_v1_secret_projection_read(in, value, out->secret))) return deployment_v1_in_field(in, "secret");
    value = json_get(object, "serviceAccountToken");
    if (deployment_v1_has(value) && !(out->service_account_token = oarlock_alloc(in->mem, sizeof *out->service_account_token), deployment_v1_service_account_token_projection_read(in, value, out->service_account_token))) return deployment_v1_in_field(in, "serviceAccountToken");
    return true;
}

static inline const json *deployment_v1_volume_projection_to_json(oarlock_mem *mem, const deployment_v1_volume_projection *in) {
    json *out = json_new_object(mem);
    if (in->cluster_trust_bundle) json_set(out, "clusterTrustBundle", deployment_v1_cluster_trust_bundle_projection_to_json(mem, in->cluster_trust_bundle));
    if (in->config_map) json_set(out, "configMap", deployment_v1_config_map_projection_to_json(mem, in->config_map));
    if (in->downward_api) json_set(out, "downwardAPI", deployment_v1_downward_api_projection_to_json(mem, in->downward_api));
    if (in->pod_certificate) json_set(out, "podCertificate", deployment_v1_pod_certificate_projection_to_json(mem, in->pod_certificate));
    if (in->secret) json_set(out, "secret", deployment_v1_secret_projection_to_json(mem, in->secret));
    if (in->service_account_token) json_set(out, "serviceAccountToken", deployment_v1_service_account_token_projection_to_json(mem, in->service_account_token));
    return out;
}

static inline bool deployment_v1_cluster_trust_bundle_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_cluster_trust_bundle_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "labelSelector");
    if (deployment_v1_has(value) && !(out->label_selector = oarlock_alloc(in->mem, sizeof *out->label_selector), deployment_v1_label_selector_read(in, value, out->label_selector))) return deployment_v1_in_field(in, "labelSelector");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    value = json_get(object, "signerName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->signer_name)) return deployment_v1_in_field(in, "signerName");
    return true;
}

static inline const json *deployment_v1_cluster_trust_bundle_projection_to_json(oarlock_mem *mem, const deployment_v1_cluster_trust_bundle_projection *in) {
    json *out = json_new_object(mem);
    if (in->label_selector) json_set(out, "labelSelector", deployment_v1_label_selector_to_json(mem, in->label_selector));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    json_set(out, "path", json_new_text(mem, in->path));
    if (in->signer_name) json_set(out, "signerName", json_new_text(mem, in->signer_name));
    return out;
}

static inline bool deployment_v1_config_map_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_config_map_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_key_to_path_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_config_map_projection_to_json(oarlock_mem *mem, const deployment_v1_config_map_projection *in) {
    json *out = json_new_object(mem);
    if (in->items.items) json_set(out, "items", deployment_v1_key_to_path_list_to_json(mem, &in->items));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_downward_api_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_downward_api_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_downward_api_volume_file_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    return true;
}

static inline const json *deployment_v1_downward_api_projection_to_json(oarlock_mem *mem, const deployment_v1_downward_api_projection *in) {
    json *out = json_new_object(mem);
    if (in->items.items) json_set(out, "items", deployment_v1_downward_api_volume_file_list_to_json(mem, &in->items));
    return out;
}

static inline bool deployment_v1_pod_certificate_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_pod_certificate_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "certificateChainPath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->certificate_chain_path)) return deployment_v1_in_field(in, "certificateChainPath");
    value = json_get(object, "credentialBundlePath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->credential_bundle_path)) return deployment_v1_in_field(in, "credentialBundlePath");
    value = json_get(object, "keyPath");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->key_path)) return deployment_v1_in_field(in, "keyPath");
    value = json_get(object, "keyType");
    if (!deployment_v1_string_read(in, value, &out->key_type)) return deployment_v1_in_field(in, "keyType");
    value = json_get(object, "maxExpirationSeconds");
    if (deployment_v1_has(value) && !(out->max_expiration_seconds = oarlock_alloc(in->mem, sizeof *out->max_expiration_seconds), deployment_v1_int32_read(in, value, out->max_expiration_seconds))) return deployment_v1_in_field(in, "maxExpirationSeconds");
    value = json_get(object, "signerName");
    if (!deployment_v1_string_read(in, value, &out->signer_name)) return deployment_v1_in_field(in, "signerName");
    value = json_get(object, "userAnnotations");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->user_annotations)) return deployment_v1_in_field(in, "userAnnotations");
    return true;
}

static inline const json *deployment_v1_pod_certificate_projection_to_json(oarlock_mem *mem, const deployment_v1_pod_certificate_projection *in) {
    json *out = json_new_object(mem);
    if (in->certificate_chain_path) json_set(out, "certificateChainPath", json_new_text(mem, in->certificate_chain_path));
    if (in->credential_bundle_path) json_set(out, "credentialBundlePath", json_new_text(mem, in->credential_bundle_path));
    if (in->key_path) json_set(out, "keyPath", json_new_text(mem, in->key_path));
    json_set(out, "keyType", json_new_text(mem, in->key_type));
    if (in->max_expiration_seconds) json_set(out, "maxExpirationSeconds", json_new_int(mem, *in->max_expiration_seconds));
    json_set(out, "signerName", json_new_text(mem, in->signer_name));
    if (in->user_annotations.items) json_set(out, "userAnnotations", deployment_v1_string_map_to_json(mem, &in->user_annotations));
    return out;
}

static inline bool deployment_v1_secret_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_key_to_path_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    value = json_get(object, "name");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    return true;
}

static inline const json *deployment_v1_secret_projection_to_json(oarlock_mem *mem, const deployment_v1_secret_projection *in) {
    json *out = json_new_object(mem);
    if (in->items.items) json_set(out, "items", deployment_v1_key_to_path_list_to_json(mem, &in->items));
    if (in->name) json_set(out, "name", json_new_text(mem, in->name));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    return out;
}

static inline bool deployment_v1_service_account_token_projection_read(deployment_v1_reader *in, const json *value, deployment_v1_service_account_token_projection *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "audience");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->audience)) return deployment_v1_in_field(in, "audience");
    value = json_get(object, "expirationSeconds");
    if (deployment_v1_has(value) && !(out->expiration_seconds = oarlock_alloc(in->mem, sizeof *out->expiration_seconds), deployment_v1_int64_read(in, value, out->expiration_seconds))) return deployment_v1_in_field(in, "expirationSeconds");
    value = json_get(object, "path");
    if (!deployment_v1_string_read(in, value, &out->path)) return deployment_v1_in_field(in, "path");
    return true;
}

static inline const json *deployment_v1_service_account_token_projection_to_json(oarlock_mem *mem, const deployment_v1_service_account_token_projection *in) {
    json *out = json_new_object(mem);
    if (in->audience) json_set(out, "audience", json_new_text(mem, in->audience));
    if (in->expiration_seconds) json_set(out, "expirationSeconds", json_new_int(mem, *in->expiration_seconds));
    json_set(out, "path", json_new_text(mem, in->path));
    return out;
}

static inline bool deployment_v1_quobyte_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_quobyte_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "group");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->group)) return deployment_v1_in_field(in, "group");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "registry");
    if (!deployment_v1_string_read(in, value, &out->registry)) return deployment_v1_in_field(in, "registry");
    value = json_get(object, "tenant");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->tenant)) return deployment_v1_in_field(in, "tenant");
    value = json_get(object, "user");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->user)) return deployment_v1_in_field(in, "user");
    value = json_get(object, "volume");
    if (!deployment_v1_string_read(in, value, &out->volume)) return deployment_v1_in_field(in, "volume");
    return true;
}

static inline const json *deployment_v1_quobyte_volume_source_to_json(oarlock_mem *mem, const deployment_v1_quobyte_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->group) json_set(out, "group", json_new_text(mem, in->group));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "registry", json_new_text(mem, in->registry));
    if (in->tenant) json_set(out, "tenant", json_new_text(mem, in->tenant));
    if (in->user) json_set(out, "user", json_new_text(mem, in->user));
    json_set(out, "volume", json_new_text(mem, in->volume));
    return out;
}

static inline bool deployment_v1_rbd_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_rbd_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "image");
    if (!deployment_v1_string_read(in, value, &out->image)) return deployment_v1_in_field(in, "image");
    value = json_get(object, "keyring");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->keyring)) return deployment_v1_in_field(in, "keyring");
    value = json_get(object, "monitors");
    if (!deployment_v1_is_null(value) && !deployment_v1_string_list_read(in, value, &out->monitors)) return deployment_v1_in_field(in, "monitors");
    value = json_get(object, "pool");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->pool)) return deployment_v1_in_field(in, "pool");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "user");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->user)) return deployment_v1_in_field(in, "user");
    return true;
}

static inline const json *deployment_v1_rbd_volume_source_to_json(oarlock_mem *mem, const deployment_v1_rbd_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    json_set(out, "image", json_new_text(mem, in->image));
    if (in->keyring) json_set(out, "keyring", json_new_text(mem, in->keyring));
    json_set(out, "monitors", deployment_v1_string_list_to_json(mem, &in->monitors));
    if (in->pool) json_set(out, "pool", json_new_text(mem, in->pool));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    if (in->user) json_set(out, "user", json_new_text(mem, in->user));
    return out;
}

static inline bool deployment_v1_scale_io_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_scale_io_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "gateway");
    if (!deployment_v1_string_read(in, value, &out->gateway)) return deployment_v1_in_field(in, "gateway");
    value = json_get(object, "protectionDomain");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->protection_domain)) return deployment_v1_in_field(in, "protectionDomain");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (!(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "sslEnabled");
    if (deployment_v1_has(value) && !(out->ssl_enabled = oarlock_alloc(in->mem, sizeof *out->ssl_enabled), deployment_v1_bool_read(in, value, out->ssl_enabled))) return deployment_v1_in_field(in, "sslEnabled");
    value = json_get(object, "storageMode");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->storage_mode)) return deployment_v1_in_field(in, "storageMode");
    value = json_get(object, "storagePool");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->storage_pool)) return deployment_v1_in_field(in, "storagePool");
    value = json_get(object, "system");
    if (!deployment_v1_string_read(in, value, &out->system)) return deployment_v1_in_field(in, "system");
    value = json_get(object, "volumeName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->volume_name)) return deployment_v1_in_field(in, "volumeName");
    return true;
}

static inline const json *deployment_v1_scale_io_volume_source_to_json(oarlock_mem *mem, const deployment_v1_scale_io_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    json_set(out, "gateway", json_new_text(mem, in->gateway));
    if (in->protection_domain) json_set(out, "protectionDomain", json_new_text(mem, in->protection_domain));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    json_set(out, "secretRef", in->secret_ref ? deployment_v1_local_object_reference_to_json(mem, in->secret_ref) : json_new_null(mem));
    if (in->ssl_enabled) json_set(out, "sslEnabled", json_new_bool(mem, *in->ssl_enabled));
    if (in->storage_mode) json_set(out, "storageMode", json_new_text(mem, in->storage_mode));
    if (in->storage_pool) json_set(out, "storagePool", json_new_text(mem, in->storage_pool));
    json_set(out, "system", json_new_text(mem, in->system));
    if (in->volume_name) json_set(out, "volumeName", json_new_text(mem, in->volume_name));
    return out;
}

static inline bool deployment_v1_secret_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_secret_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "defaultMode");
    if (deployment_v1_has(value) && !(out->default_mode = oarlock_alloc(in->mem, sizeof *out->default_mode), deployment_v1_int32_read(in, value, out->default_mode))) return deployment_v1_in_field(in, "defaultMode");
    value = json_get(object, "items");
    if (deployment_v1_has(value) && !deployment_v1_key_to_path_list_read(in, value, &out->items)) return deployment_v1_in_field(in, "items");
    value = json_get(object, "optional");
    if (deployment_v1_has(value) && !(out->optional = oarlock_alloc(in->mem, sizeof *out->optional), deployment_v1_bool_read(in, value, out->optional))) return deployment_v1_in_field(in, "optional");
    value = json_get(object, "secretName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->secret_name)) return deployment_v1_in_field(in, "secretName");
    return true;
}

static inline const json *deployment_v1_secret_volume_source_to_json(oarlock_mem *mem, const deployment_v1_secret_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->default_mode) json_set(out, "defaultMode", json_new_int(mem, *in->default_mode));
    if (in->items.items) json_set(out, "items", deployment_v1_key_to_path_list_to_json(mem, &in->items));
    if (in->optional) json_set(out, "optional", json_new_bool(mem, *in->optional));
    if (in->secret_name) json_set(out, "secretName", json_new_text(mem, in->secret_name));
    return out;
}

static inline bool deployment_v1_storage_os_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_storage_os_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "readOnly");
    if (deployment_v1_has(value) && !(out->read_only = oarlock_alloc(in->mem, sizeof *out->read_only), deployment_v1_bool_read(in, value, out->read_only))) return deployment_v1_in_field(in, "readOnly");
    value = json_get(object, "secretRef");
    if (deployment_v1_has(value) && !(out->secret_ref = oarlock_alloc(in->mem, sizeof *out->secret_ref), deployment_v1_local_object_reference_read(in, value, out->secret_ref))) return deployment_v1_in_field(in, "secretRef");
    value = json_get(object, "volumeName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->volume_name)) return deployment_v1_in_field(in, "volumeName");
    value = json_get(object, "volumeNamespace");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->volume_namespace)) return deployment_v1_in_field(in, "volumeNamespace");
    return true;
}

static inline const json *deployment_v1_storage_os_volume_source_to_json(oarlock_mem *mem, const deployment_v1_storage_os_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->read_only) json_set(out, "readOnly", json_new_bool(mem, *in->read_only));
    if (in->secret_ref) json_set(out, "secretRef", deployment_v1_local_object_reference_to_json(mem, in->secret_ref));
    if (in->volume_name) json_set(out, "volumeName", json_new_text(mem, in->volume_name));
    if (in->volume_namespace) json_set(out, "volumeNamespace", json_new_text(mem, in->volume_namespace));
    return out;
}

static inline bool deployment_v1_vsphere_virtual_disk_volume_source_read(deployment_v1_reader *in, const json *value, deployment_v1_vsphere_virtual_disk_volume_source *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "fsType");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->fs_type)) return deployment_v1_in_field(in, "fsType");
    value = json_get(object, "storagePolicyID");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->storage_policy_id)) return deployment_v1_in_field(in, "storagePolicyID");
    value = json_get(object, "storagePolicyName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->storage_policy_name)) return deployment_v1_in_field(in, "storagePolicyName");
    value = json_get(object, "volumePath");
    if (!deployment_v1_string_read(in, value, &out->volume_path)) return deployment_v1_in_field(in, "volumePath");
    return true;
}

static inline const json *deployment_v1_vsphere_virtual_disk_volume_source_to_json(oarlock_mem *mem, const deployment_v1_vsphere_virtual_disk_volume_source *in) {
    json *out = json_new_object(mem);
    if (in->fs_type) json_set(out, "fsType", json_new_text(mem, in->fs_type));
    if (in->storage_policy_id) json_set(out, "storagePolicyID", json_new_text(mem, in->storage_policy_id));
    if (in->storage_policy_name) json_set(out, "storagePolicyName", json_new_text(mem, in->storage_policy_name));
    json_set(out, "volumePath", json_new_text(mem, in->volume_path));
    return out;
}

static inline bool deployment_v1_status_read(deployment_v1_reader *in, const json *value, deployment_v1_status *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "availableReplicas");
    if (deployment_v1_has(value) && !(out->available_replicas = oarlock_alloc(in->mem, sizeof *out->available_replicas), deployment_v1_int32_read(in, value, out->available_replicas))) return deployment_v1_in_field(in, "availableReplicas");
    value = json_get(object, "collisionCount");
    if (deployment_v1_has(value) && !(out->collision_count = oarlock_alloc(in->mem, sizeof *out->collision_count), deployment_v1_int32_read(in, value, out->collision_count))) return deployment_v1_in_field(in, "collisionCount");
    value = json_get(object, "conditions");
    if (deployment_v1_has(value) && !deployment_v1_condition_list_read(in, value, &out->conditions)) return deployment_v1_in_field(in, "conditions");
    value = json_get(object, "observedGeneration");
    if (deployment_v1_has(value) && !(out->observed_generation = oarlock_alloc(in->mem, sizeof *out->observed_generation), deployment_v1_int64_read(in, value, out->observed_generation))) return deployment_v1_in_field(in, "observedGeneration");
    value = json_get(object, "readyReplicas");
    if (deployment_v1_has(value) && !(out->ready_replicas = oarlock_alloc(in->mem, sizeof *out->ready_replicas), deployment_v1_int32_read(in, value, out->ready_replicas))) return deployment_v1_in_field(in, "readyReplicas");
    value = json_get(object, "replicas");
    if (deployment_v1_has(value) && !(out->replicas = oarlock_alloc(in->mem, sizeof *out->replicas), deployment_v1_int32_read(in, value, out->replicas))) return deployment_v1_in_field(in, "replicas");
    value = json_get(object, "terminatingReplicas");
    if (deployment_v1_has(value) && !(out->terminating_replicas = oarlock_alloc(in->mem, sizeof *out->terminating_replicas), deployment_v1_int32_read(in, value, out->terminating_replicas))) return deployment_v1_in_field(in, "terminatingReplicas");
    value = json_get(object, "unavailableReplicas");
    if (deployment_v1_has(value) && !(out->unavailable_replicas = oarlock_alloc(in->mem, sizeof *out->unavailable_replicas), deployment_v1_int32_read(in, value, out->unavailable_replicas))) return deployment_v1_in_field(in, "unavailableReplicas");
    value = json_get(object, "updatedReplicas");
    if (deployment_v1_has(value) && !(out->updated_replicas = oarlock_alloc(in->mem, sizeof *out->updated_replicas), deployment_v1_int32_read(in, value, out->updated_replicas))) return deployment_v1_in_field(in, "updatedReplicas");
    return true;
}

static inline const json *deployment_v1_status_to_json(oarlock_mem *mem, const deployment_v1_status *in) {
    json *out = json_new_object(mem);
    if (in->available_replicas) json_set(out, "availableReplicas", json_new_int(mem, *in->available_replicas));
    if (in->collision_count) json_set(out, "collisionCount", json_new_int(mem, *in->collision_count));
    if (in->conditions.items) json_set(out, "conditions", deployment_v1_condition_list_to_json(mem, &in->conditions));
    if (in->observed_generation) json_set(out, "observedGeneration", json_new_int(mem, *in->observed_generation));
    if (in->ready_replicas) json_set(out, "readyReplicas", json_new_int(mem, *in->ready_replicas));
    if (in->replicas) json_set(out, "replicas", json_new_int(mem, *in->replicas));
    if (in->terminating_replicas) json_set(out, "terminatingReplicas", json_new_int(mem, *in->terminating_replicas));
    if (in->unavailable_replicas) json_set(out, "unavailableReplicas", json_new_int(mem, *in->unavailable_replicas));
    if (in->updated_replicas) json_set(out, "updatedReplicas", json_new_int(mem, *in->updated_replicas));
    return out;
}

static inline bool deployment_v1_condition_read(deployment_v1_reader *in, const json *value, deployment_v1_condition *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "lastTransitionTime");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->last_transition_time)) return deployment_v1_in_field(in, "lastTransitionTime");
    value = json_get(object, "lastUpdateTime");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->last_update_time)) return deployment_v1_in_field(in, "lastUpdateTime");
    value = json_get(object, "message");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->message)) return deployment_v1_in_field(in, "message");
    value = json_get(object, "reason");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->reason)) return deployment_v1_in_field(in, "reason");
    value = json_get(object, "status");
    if (!deployment_v1_string_read(in, value, &out->status)) return deployment_v1_in_field(in, "status");
    value = json_get(object, "type");
    if (!deployment_v1_string_read(in, value, &out->type)) return deployment_v1_in_field(in, "type");
    return true;
}

static inline const json *deployment_v1_condition_to_json(oarlock_mem *mem, const deployment_v1_condition *in) {
    json *out = json_new_object(mem);
    if (in->last_transition_time) json_set(out, "lastTransitionTime", json_new_text(mem, in->last_transition_time));
    if (in->last_update_time) json_set(out, "lastUpdateTime", json_new_text(mem, in->last_update_time));
    if (in->message) json_set(out, "message", json_new_text(mem, in->message));
    if (in->reason) json_set(out, "reason", json_new_text(mem, in->reason));
    json_set(out, "status", json_new_text(mem, in->status));
    json_set(out, "type", json_new_text(mem, in->type));
    return out;
}

static inline bool deployment_v1_object_meta2_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta2 *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "annotations");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->annotations)) return deployment_v1_in_field(in, "annotations");
    value = json_get(object, "creationTimestamp");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->creation_timestamp)) return deployment_v1_in_field(in, "creationTimestamp");
    value = json_get(object, "deletionTimestamp");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->deletion_timestamp)) return deployment_v1_in_field(in, "deletionTimestamp");
    value = json_get(object, "finalizers");
    if (deployment_v1_has(value) && !deployment_v1_string_list_read(in, value, &out->finalizers)) return deployment_v1_in_field(in, "finalizers");
    value = json_get(object, "generateName");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->generate_name)) return deployment_v1_in_field(in, "generateName");
    value = json_get(object, "generation");
    if (deployment_v1_has(value) && !(out->generation = oarlock_alloc(in->mem, sizeof *out->generation), deployment_v1_int64_read(in, value, out->generation))) return deployment_v1_in_field(in, "generation");
    value = json_get(object, "labels");
    if (deployment_v1_has(value) && !deployment_v1_string_map_read(in, value, &out->labels)) return deployment_v1_in_field(in, "labels");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "namespace");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->namespace_)) return deployment_v1_in_field(in, "namespace");
    value = json_get(object, "ownerReferences");
    if (deployment_v1_has(value) && !deployment_v1_object_meta_owner_references_list_read(in, value, &out->owner_references)) return deployment_v1_in_field(in, "ownerReferences");
    value = json_get(object, "resourceVersion");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->resource_version)) return deployment_v1_in_field(in, "resourceVersion");
    value = json_get(object, "uid");
    if (deployment_v1_has(value) && !deployment_v1_string_read(in, value, &out->uid)) return deployment_v1_in_field(in, "uid");
    json *rest = json_copy(in->mem, object);
    json_set(rest, "annotations", NULL);
    json_set(rest, "creationTimestamp", NULL);
    json_set(rest, "deletionTimestamp", NULL);
    json_set(rest, "finalizers", NULL);
    json_set(rest, "generateName", NULL);
    json_set(rest, "generation", NULL);
    json_set(rest, "labels", NULL);
    json_set(rest, "name", NULL);
    json_set(rest, "namespace", NULL);
    json_set(rest, "ownerReferences", NULL);
    json_set(rest, "resourceVersion", NULL);
    json_set(rest, "uid", NULL);
    if (json_count(rest)) out->other = rest;
    return true;
}

static inline const json *deployment_v1_object_meta2_to_json(oarlock_mem *mem, const deployment_v1_object_meta2 *in) {
    json *out = in->other ? json_copy(mem, in->other) : json_new_object(mem);
    if (in->annotations.items) json_set(out, "annotations", deployment_v1_string_map_to_json(mem, &in->annotations));
    if (in->creation_timestamp) json_set(out, "creationTimestamp", json_new_text(mem, in->creation_timestamp));
    if (in->deletion_timestamp) json_set(out, "deletionTimestamp", json_new_text(mem, in->deletion_timestamp));
    if (in->finalizers.items) json_set(out, "finalizers", deployment_v1_string_list_to_json(mem, &in->finalizers));
    if (in->generate_name) json_set(out, "generateName", json_new_text(mem, in->generate_name));
    if (in->generation) json_set(out, "generation", json_new_int(mem, *in->generation));
    if (in->labels.items) json_set(out, "labels", deployment_v1_string_map_to_json(mem, &in->labels));
    json_set(out, "name", json_new_text(mem, in->name));
    if (in->namespace_) json_set(out, "namespace", json_new_text(mem, in->namespace_));
    if (in->owner_references.items) json_set(out, "ownerReferences", deployment_v1_object_meta_owner_references_list_to_json(mem, &in->owner_references));
    if (in->resource_version) json_set(out, "resourceVersion", json_new_text(mem, in->resource_version));
    if (in->uid) json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

static inline bool deployment_v1_object_meta_owner_references_read(deployment_v1_reader *in, const json *value, deployment_v1_object_meta_owner_references *out) {
    if (!deployment_v1_is(in, value, JSON_OBJECT, "an object")) return false;
    const json *object = value;
    memset(out, 0, sizeof *out);
    value = json_get(object, "apiVersion");
    if (!deployment_v1_string_read(in, value, &out->api_version)) return deployment_v1_in_field(in, "apiVersion");
    value = json_get(object, "blockOwnerDeletion");
    if (deployment_v1_has(value) && !(out->block_owner_deletion = oarlock_alloc(in->mem, sizeof *out->block_owner_deletion), deployment_v1_bool_read(in, value, out->block_owner_deletion))) return deployment_v1_in_field(in, "blockOwnerDeletion");
    value = json_get(object, "controller");
    if (deployment_v1_has(value) && !(out->controller = oarlock_alloc(in->mem, sizeof *out->controller), deployment_v1_bool_read(in, value, out->controller))) return deployment_v1_in_field(in, "controller");
    value = json_get(object, "kind");
    if (!deployment_v1_string_read(in, value, &out->kind)) return deployment_v1_in_field(in, "kind");
    value = json_get(object, "name");
    if (!deployment_v1_string_read(in, value, &out->name)) return deployment_v1_in_field(in, "name");
    value = json_get(object, "uid");
    if (!deployment_v1_string_read(in, value, &out->uid)) return deployment_v1_in_field(in, "uid");
    return true;
}

static inline const json *deployment_v1_object_meta_owner_references_to_json(oarlock_mem *mem, const deployment_v1_object_meta_owner_references *in) {
    json *out = json_new_object(mem);
    json_set(out, "apiVersion", json_new_text(mem, in->api_version));
    if (in->block_owner_deletion) json_set(out, "blockOwnerDeletion", json_new_bool(mem, *in->block_owner_deletion));
    if (in->controller) json_set(out, "controller", json_new_bool(mem, *in->controller));
    json_set(out, "kind", json_new_text(mem, in->kind));
    json_set(out, "name", json_new_text(mem, in->name));
    json_set(out, "uid", json_new_text(mem, in->uid));
    return out;
}

/* Reads an object. NULL when it does not fit the schema; then `*problem` (which may be NULL) says why and where.
 * Strings and values are those of `object`, which must live as long; the rest is in `mem`. */
static inline deployment_v1 *deployment_v1_parse(oarlock_mem *mem, const json *object, const char **problem) {
    deployment_v1_reader in = {mem, NULL};
    deployment_v1 *out = oarlock_alloc(mem, sizeof *out);
    if (deployment_v1_read(&in, object, out)) return out;
    if (problem) *problem = in.problem + strspn(in.problem, ".: ");
    return NULL;
}

/* The object as JSON. It is in `mem`, with copies of the strings; values of `in` become part of it. */
static inline const json *deployment_v1_write(oarlock_mem *mem, const deployment_v1 *in) {
    return deployment_v1_to_json(mem, in);
}

#endif
