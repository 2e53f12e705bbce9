package oarlock

// Manifest is what a plugin is and asks for; a person grants it. Its fields are those of manifest.schema.json.
type Manifest struct {
	// Name is a DNS label of at most 40 characters. It stays the same from version to version.
	Name string `json:"name"`
	// Version is the plugin's own, for people.
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	// Primaries are the kinds it reconciles.
	Primaries []Primary `json:"primaries"`
	// Watches are other kinds it reads, and which keys a change of them wakes.
	Watches []Watch `json:"watches,omitempty"`
	// Indexes are those by which ListIndexed lists.
	Indexes []Index `json:"indexes,omitempty"`
	// Permissions are those beyond reading primaries and watches.
	Permissions []Rule          `json:"permissions,omitempty"`
	Admission   []AdmissionRule `json:"admission,omitempty"`
	// Conversions are the definitions between whose versions the plugin converts, each by its name: networks.example.com. See
	// package conversion.
	Conversions []string    `json:"conversions,omitempty"`
	HTTP        *HTTPAccess `json:"http,omitempty"`
	// Cleanup keeps a finalizer on the objects: they go only when Actual says that nothing exists.
	Cleanup bool `json:"cleanup,omitempty"`
	// ManageStatus has the host keep observedGeneration and the Ready condition.
	ManageStatus bool `json:"manageStatus,omitempty"`
	// Config has a JSON Schema for each key of the configuration. Once one is declared, keys that are not are refused: what is misspelt in
	// a grant is found.
	Config map[string]Object `json:"-"`
	// RequiredConfig are keys that must be set.
	RequiredConfig []string `json:"-"`
	// Workers is how many objects are reconciled at the same time. 0: 2.
	Workers int `json:"workers,omitempty"`
	// ResyncSeconds is the resync period of every object. 0: 30.
	ResyncSeconds int `json:"resyncSeconds,omitempty"`
}

// Primary is a kind that is reconciled, and which objects of it.
type Primary struct {
	Kind
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
	// ManageStatus is false for a kind whose status the host does not manage, such as a built-in one. Nil: as the manifest says.
	ManageStatus *bool `json:"manageStatus,omitempty"`
}

// Watch is a kind that is read.
type Watch struct {
	Kind
	// MapTo says which primaries a change of it wakes. Unset: those whose last reconcile read the object, whether or not it existed, or a
	// list that contained or now contains it. Set it only for a reason: for example when a change concerns primaries that do not read it.
	MapTo         Mapping  `json:"mapTo,omitzero"`
	Names         []string `json:"names,omitempty"`
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	// Primary is the kind it wakes, where there are several. Only with MapTo.
	Primary *Kind `json:"primary,omitempty"`
}

// Index is an index of a kind, which is a primary or a watch. Either JSONPath or Label is set.
type Index struct {
	// Name has 1 to 63 characters (a-z, 0-9, -). Each index of a kind has another name.
	Name string `json:"name"`
	Kind
	// JSONPath has field names, ['name'], [0] and [*]: .spec.volumes[*].configMap.name. Values are strings, integers, booleans, or lists of
	// them.
	JSONPath string `json:"jsonPath,omitempty"`
	// Label is the key of the label whose value is the value in the index.
	Label string `json:"label,omitempty"`
}

// Mapping leads from a watched object to the primaries it wakes.
type Mapping struct {
	Type    string `json:"type"`
	Key     string `json:"key,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

// ToOwner wakes the primaries among its owner references.
func ToOwner() Mapping { return Mapping{Type: "ownerReference"} }

// ToSameName wakes the primary of the same namespace and name.
func ToSameName() Mapping { return Mapping{Type: "sameName"} }

// ToLabel wakes the primary in the same namespace whose name is the value of this label.
func ToLabel(key string) Mapping { return Mapping{Type: "label", Key: key} }

// ToAnnotation wakes the primary in the same namespace whose name is the value of this annotation.
func ToAnnotation(key string) Mapping { return Mapping{Type: "annotation", Key: key} }

// ToReferrers wakes every primary that holds its name at this JSON pointer.
func ToReferrers(pointer string) Mapping { return Mapping{Type: "referencedBy", Pointer: pointer} }

// ToAll wakes all primaries.
func ToAll() Mapping { return Mapping{Type: "all"} }

// ToNone wakes nobody: it is only there to be read.
func ToNone() Mapping { return Mapping{Type: "cacheOnly"} }

// Rule is a permission in the shape of RBAC.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	Verbs         []string `json:"verbs"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Namespaces    []string `json:"namespaces,omitempty"`
}

// HTTPAccess says where a plugin sends HTTP requests.
type HTTPAccess struct {
	// Origins are scheme, host and port: https://api.example.com.
	Origins []string `json:"origins,omitempty"`
	// OriginsFromConfig are keys of the configuration whose values are URLs.
	OriginsFromConfig []string `json:"originsFromConfig,omitempty"`
	// SafeRequests change nothing, and may go out in a dry run.
	SafeRequests []SafeRequest `json:"safeRequests,omitempty"`
}

// SafeRequest is a request other than GET and HEAD that changes nothing.
type SafeRequest struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// AdmissionRule is what a plugin answers at admission, in the shape of the webhook API.
type AdmissionRule struct {
	Operations         []string `json:"operations"`
	APIGroups          []string `json:"apiGroups"`
	APIVersions        []string `json:"apiVersions"`
	Resources          []string `json:"resources"`
	Scope              string   `json:"scope,omitempty"`
	NamespaceSelector  Object   `json:"namespaceSelector,omitempty"`
	ObjectSelector     Object   `json:"objectSelector,omitempty"`
	MatchConditions    []Object `json:"matchConditions,omitempty"`
	MatchPolicy        string   `json:"matchPolicy,omitempty"`
	FailurePolicy      string   `json:"failurePolicy,omitempty"`
	ReinvocationPolicy string   `json:"reinvocationPolicy,omitempty"`
	SideEffects        string   `json:"sideEffects,omitempty"`
	TimeoutSeconds     int      `json:"timeoutSeconds,omitempty"`
	// Validate refuses what differs, instead of changing it.
	Validate bool `json:"validate,omitempty"`
}

func (m Manifest) document() string {
	type fields Manifest
	if m.Primaries == nil {
		m.Primaries = []Primary{}
	}
	var config Object
	if m.Config != nil {
		config = Object{"type": "object", "additionalProperties": false, "properties": m.Config}
		if m.RequiredConfig != nil {
			config["required"] = m.RequiredConfig
		}
	}
	return document("the manifest", struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		fields
		Config Object `json:"config,omitempty"`
	}{"oarlock.dev/v1alpha1", "PluginManifest", fields(m), config})
}
