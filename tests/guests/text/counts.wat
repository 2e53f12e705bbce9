  ;; Answers how often it was asked, if its memory is still there: {"count": N} for N below 10.
  (global $count (mut i32) (i32.const 47))
  (data (i32.const 704) "{\"count\": ?}")
  (func $desired
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store8 (i32.const 714) (i32.add (global.get $count) (i32.const 1)))
    (i32.store8 (i32.const 768) (i32.const 0)) ;; ok
    (i32.store8 (i32.const 776) (i32.const 1)) ;; some
    (i32.store (i32.const 780) (i32.const 704))
    (i32.store (i32.const 784) (i32.const 12)))
  (func $entered)
  (func $answer (result i32) i32.const 768)
