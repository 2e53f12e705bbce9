  ;; P7: a log line that is no UTF-8.
  (import "oarlock:reconciler/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
  (data (i32.const 704) "\ff\fe\fd\fc")
  (func $desired (call $log (i32.const 1) (i32.const 704) (i32.const 4) (i32.const 0) (i32.const 0)))
  (func $entered)
  (func $answer (result i32) i32.const 256)
