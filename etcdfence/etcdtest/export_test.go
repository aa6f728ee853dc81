package etcdtest

// VerifyNoLeaksFor is VerifyNoLeaks with another patience.
var VerifyNoLeaksFor = verifyNoLeaks
