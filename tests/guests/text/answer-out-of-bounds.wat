  ;; P7: the answer lies outside its memory.
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 0x7ffffff0)
