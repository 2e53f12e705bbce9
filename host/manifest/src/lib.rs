//! What a plugin says of itself (PluginManifest) and what it is granted (PluginGrant).
