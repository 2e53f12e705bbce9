  ;; P4: ten tables, each within what one may have.
  (table 10000 funcref) (table 10000 funcref) (table 10000 funcref) (table 10000 funcref) (table 10000 funcref)
  (table 10000 funcref) (table 10000 funcref) (table 10000 funcref) (table 10000 funcref) (table 10000 funcref)
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 256)
