package redisfence

import "strings"

// slots is how many a Redis Cluster has.
const slots = 16384

// slot is the one that a cluster keeps a key in: CRC-16 (XMODEM) of its tag, or of the whole.
func slot(key string) int {
	if tag, ok := hashTag(key); ok {
		key = tag
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// hashTag is what stands between the first brace and the next closing one, unless it is
// nothing.
func hashTag(key string) (string, bool) {
	_, after, opened := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	return tag, opened && closed && tag != ""
}

// beside is a key in the slot of another one, named after it. It is not possible for some
// keys with braces and without a tag.
func beside(key, suffix string) (string, bool) {
	if _, tagged := hashTag(key); tagged {
		return key + suffix, true
	}
	if key == "" || strings.ContainsAny(key, "{}") {
		return "", false
	}
	return "{" + key + "}" + suffix, true
}
