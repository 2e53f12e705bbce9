  ;; P4: two tables that grow in turn until one is refused; then it traps.
  (table $one 0 funcref)
  (table $two 0 funcref)
  (func $desired
    (loop $again
      (if (i32.eq (table.grow $one (ref.null func) (i32.const 1000)) (i32.const -1)) (then unreachable))
      (if (i32.eq (table.grow $two (ref.null func) (i32.const 1000)) (i32.const -1)) (then unreachable))
      br $again))
  (func $entered)
  (func $answer (result i32) i32.const 256)
