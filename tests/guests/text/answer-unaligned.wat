  ;; P7: the answer lies where none can lie.
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 257)
