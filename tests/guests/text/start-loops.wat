  ;; P2: the start function does not end.
  (start $forever)
  (func $forever (loop $again br $again))
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 256)
