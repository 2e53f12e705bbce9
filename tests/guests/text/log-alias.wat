  ;; P7: a log line with 4096 fields, which are all the same 32 KiB: 256 MiB for who copies them.
  (import "oarlock:reconciler/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
  (func $desired
    (local $at i32)
    (local.set $at (i32.const 131072))
    (loop $fields
      (i32.store (local.get $at) (i32.const 98304))
      (i32.store offset=4 (local.get $at) (i32.const 32768))
      (i32.store offset=8 (local.get $at) (i32.const 98304))
      (i32.store offset=12 (local.get $at) (i32.const 32768))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $fields (i32.lt_u (local.get $at) (i32.const 196608))))
    (call $log (i32.const 1) (i32.const 1024) (i32.const 8) (i32.const 131072) (i32.const 4096)))
  (func $entered)
  (func $answer (result i32) i32.const 256)
