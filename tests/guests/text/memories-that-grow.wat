  ;; P4: four memories that grow in turn, page by page, until one is refused; then it traps.
  (memory $b 1)
  (memory $c 1)
  (memory $d 1)
  (func $desired
    (loop $again
      (if (i32.eq (memory.grow $b (i32.const 16)) (i32.const -1)) (then unreachable))
      (if (i32.eq (memory.grow $c (i32.const 16)) (i32.const -1)) (then unreachable))
      (if (i32.eq (memory.grow $d (i32.const 16)) (i32.const -1)) (then unreachable))
      br $again))
  (func $entered)
  (func $answer (result i32) i32.const 256)
