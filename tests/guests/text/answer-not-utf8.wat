  ;; P7: the desired state is no UTF-8.
  (data (i32.const 704) "\ff\fe\fd\fc")
  (func $desired
    (i32.store8 (i32.const 768) (i32.const 0)) ;; ok
    (i32.store8 (i32.const 776) (i32.const 1)) ;; some
    (i32.store (i32.const 780) (i32.const 704))
    (i32.store (i32.const 784) (i32.const 4)))
  (func $entered)
  (func $answer (result i32) i32.const 768)
