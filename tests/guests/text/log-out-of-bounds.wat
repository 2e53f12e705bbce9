  ;; P7: a log line that lies outside its memory.
  (import "oarlock:reconciler/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
  (func $desired (call $log (i32.const 1) (i32.const 1024) (i32.const -1) (i32.const 0) (i32.const 0)))
  (func $entered)
  (func $answer (result i32) i32.const 256)
