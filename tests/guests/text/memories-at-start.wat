  ;; P4: four memories that together want 96 MiB before anything runs.
  (memory $b 512)
  (memory $c 512)
  (memory $d 512)
  (func $desired)
  (func $entered)
  (func $answer (result i32) i32.const 256)
