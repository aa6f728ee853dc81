package redisfence

import "testing"

// From the cluster's specification, and CLUSTER KEYSLOT of Redis 7.0.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 0x31c3, "": 0, "foo": 12182, "{user1000}.following": 3443, "{user1000}.followers": 3443, "user1000": 3443,
		"foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061, "bar": 5061, "{bar": 4015,
	} {
		if got := slot(key); got != want {
			t.Errorf("%q: got %d, want %d", key, got, want)
		}
	}
}

func FuzzBeside(f *testing.F) {
	for _, key := range []string{"", "a", "{a}", "a{", "}a{", "{}", "{}a", "a{b}c{d}", "{a"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if other, ok := beside(key, ":operations"); ok && (slot(other) != slot(key) || other == key) {
			t.Errorf("%q is in %d, %q in %d", key, slot(key), other, slot(other))
		}
	})
}
