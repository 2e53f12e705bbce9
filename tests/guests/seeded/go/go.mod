module seeded-go

go 1.24

require oarlock.dev/oarlock v0.0.0

replace oarlock.dev/oarlock => ../../../../guest-sdk/go
