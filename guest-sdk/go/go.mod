module oarlock.dev/oarlock

go 1.24
