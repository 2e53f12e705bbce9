  ;; P2: the start function traps.
  (start $trap)
  (func $trap unreachable)
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 256)
