package oarlock

import (
	"time"
)

// Config is a value of the plugin's configuration, or of a secret it was granted. False: it is not set.
func Config(key string) (string, bool) { return host().ConfigGet(key) }

// ConfigOr is a value of the configuration, or another where it is not set.
func ConfigOr(key, otherwise string) string {
	if value, ok := Config(key); ok {
		return value
	}
	return otherwise
}

// RequireConfig is a value of the configuration, or a terminal error that names the key.
func RequireConfig(key string) (string, error) {
	if value, ok := Config(key); ok {
		return value, nil
	}
	return "", Terminalf("the configuration has no %s", key)
}

// ConfigKeys are the keys that are set, in order.
func ConfigKeys() []string { return host().ConfigKeys() }

// CacheGet reads a value that the host keeps for this plugin between reconciles. False: never set, expired, or dropped for room.
func CacheGet(key string) ([]byte, bool) { return host().CacheGet(key) }

// CacheSet keeps a value: in memory, for all instances of this plugin, lost on restart. keep 0: no expiry. An empty value removes the key.
func CacheSet(key string, value []byte, keep time.Duration) {
	ttl := uint64(0)
	if ms := milliseconds(keep); ms != nil {
		ttl = *ms
	}
	host().CacheSet(key, value, ttl)
}
