  ;; Computes for long, but not for ever: about as many milliseconds as there are millions in its counter.
  (func $desired
    (local $left i64)
    (local.set $left (i64.const 600000000))
    (loop $again
      (local.set $left (i64.sub (local.get $left) (i64.const 1)))
      (br_if $again (i64.ne (local.get $left) (i64.const 0)))))
  (func $entered)
  (func $answer (result i32) i32.const 256)
