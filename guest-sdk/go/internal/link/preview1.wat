;; What the Go runtime asks of WASI's first preview, over what the host offers: WASI 0.2 and the contract. It becomes one module with what
;; the Go compiler makes (link.go). preview1.bin is this file, assembled.
;;
;; The usual adapter does not work for Go: it keeps state in memory that it grows by itself, and Go takes all memory at the end for its own.
;; And the runtime asks for the time whenever it runs, also when the host has it allocate memory for a string, and then nothing may be
;; called outside the component.
(module
  (import "wasi:clocks/wall-clock@0.2.0" "now" (func $wall (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $monotonic (result i64)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $sleep (param i64) (result i32)))
  (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
  (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  ;; The module of the Go compiler.
  (import "go" "memory" (memory 1))
  (import "go" "cabi_realloc" (func $go_realloc (param i32 i32 i32 i32) (result i32)))

  ;; Where calls put what they answer. Go's linker leaves the memory below 12288 alone.
  (global $answer i32 (i32.const 4096))
  ;; Go runs for the host that allocates: nothing outside may be called.
  (global $inside (mut i32) (i32.const 0))
  ;; What the clocks said last, in nanoseconds.
  (global $last_wall (mut i64) (i64.const 0))
  (global $last_monotonic (mut i64) (i64.const 0))
  ;; Handles of the streams.
  (global $stdout (mut i32) (i32.const -1))
  (global $stderr (mut i32) (i32.const -1))
  ;; The memory that the host allocates from, and what is used of it.
  (global $arena (mut i32) (i32.const 0))
  (global $arena_end (mut i32) (i32.const 0))
  (global $arena_next (mut i32) (i32.const 0))
  ;; Where the runtime keeps what its random numbers are made of, when the program was started while it was built; 0: nothing to do.
  (global $random_state (export "random_state") (mut i32) (i32.const 0))

  ;; What the SDK asks for, by module oarlock:go.

  ;; Lends the host memory, so that Go need not run when it allocates.
  (func (export "lend") (param $at i32) (param $length i32)
    (global.set $arena (local.get $at))
    (global.set $arena_next (local.get $at))
    (global.set $arena_end (i32.add (local.get $at) (local.get $length))))
  ;; What the host wrote there has been copied.
  (func (export "release") (global.set $arena_next (global.get $arena)))
  (func (export "trap") unreachable)
  ;; Gives an instance random numbers of its own: another seed, and none left of those made of the old one (start.go).
  (func (export "wake")
    (local $state i32)
    (if (i32.eqz (global.get $random_state)) (then (return)))
    (local.set $state (global.get $random_state))
    (global.set $random_state (i32.const 0))
    (i64.store offset=256 (local.get $state) (call $random))
    (i64.store offset=264 (local.get $state) (call $random))
    (i64.store offset=272 (local.get $state) (call $random))
    (i64.store offset=280 (local.get $state) (call $random))
    (i32.store offset=288 (local.get $state) (i32.const 32))
    (i32.store offset=292 (local.get $state) (i32.const 32))
    (i32.store offset=296 (local.get $state) (i32.const 0)))

  ;; Takes the place of the function of this name that Go exports, which it calls when the lent memory is full.
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at
      (i32.and (i32.add (global.get $arena_next) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (if (i32.and
          (i32.le_u (local.get $at) (global.get $arena_end))
          (i32.le_u (local.get $size) (i32.sub (global.get $arena_end) (local.get $at))))
      (then (global.set $arena_next (i32.add (local.get $at) (local.get $size))))
      (else
        (global.set $inside (i32.const 1))
        (local.set $at (call $go_realloc (i32.const 0) (i32.const 0) (local.get $align) (local.get $size)))
        (global.set $inside (i32.const 0))))
    (if (i32.gt_u (local.get $old_size) (local.get $size)) (then (local.set $old_size (local.get $size))))
    (memory.copy (local.get $at) (local.get $old) (local.get $old_size))
    (local.get $at))

  ;; WASI's first preview. Errors are its numbers: 8 a bad file descriptor, 28 an invalid argument, 44 no such file, 52
  ;; not supported.

  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (if (i32.gt_u (local.get $clock) (i32.const 1)) (then (return (i32.const 28))))
    (if (i32.eqz (local.get $clock))
      (then
        (if (i32.eqz (global.get $inside))
          (then
            (call $wall (global.get $answer))
            (global.set $last_wall
              (i64.add
                (i64.mul (i64.load (global.get $answer)) (i64.const 1000000000))
                (i64.extend_i32_u (i32.load offset=8 (global.get $answer)))))))
        (i64.store (local.get $time) (global.get $last_wall)))
      (else
        (if (i32.eqz (global.get $inside)) (then (global.set $last_monotonic (call $monotonic))))
        (i64.store (local.get $time) (global.get $last_monotonic))))
    (i32.const 0))

  (func (export "random_get") (param $at i32) (param $length i32) (result i32)
    (local $bits i64)
    (local $known i32)
    ;; Better none than bits that somebody can guess.
    (if (global.get $inside) (then (return (i32.const 52))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (if (i32.eqz (local.get $known))
          (then
            (local.set $bits (call $random))
            (local.set $known (i32.const 8))))
        (i64.store8 (local.get $at) (local.get $bits))
        (local.set $bits (i64.shr_u (local.get $bits) (i64.const 8)))
        (local.set $known (i32.sub (local.get $known) (i32.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; A stream takes 4096 bytes at once.
  (func $print (param $stream i32) (param $at i32) (param $length i32)
    (local $part i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (local.set $part
          (select (local.get $length) (i32.const 4096) (i32.lt_u (local.get $length) (i32.const 4096))))
        (call $write (local.get $stream) (local.get $at) (local.get $part) (global.get $answer))
        (local.set $at (i32.add (local.get $at) (local.get $part)))
        (local.set $length (i32.sub (local.get $length) (local.get $part)))
        (br $next))))

  (func (export "fd_write") (param $file i32) (param $parts i32) (param $count i32) (param $written i32) (result i32)
    (local $stream i32)
    (local $all i32)
    (if (i32.and (i32.ne (local.get $file) (i32.const 1)) (i32.ne (local.get $file) (i32.const 2)))
      (then (return (i32.const 8))))
    (if (i32.eqz (global.get $inside))
      (then
        (if (i32.eq (local.get $file) (i32.const 1))
          (then
            (if (i32.eq (global.get $stdout) (i32.const -1)) (then (global.set $stdout (call $get_stdout))))
            (local.set $stream (global.get $stdout)))
          (else
            (if (i32.eq (global.get $stderr) (i32.const -1)) (then (global.set $stderr (call $get_stderr))))
            (local.set $stream (global.get $stderr))))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (if (i32.eqz (global.get $inside))
          (then
            (call $print (local.get $stream) (i32.load (local.get $parts)) (i32.load offset=4 (local.get $parts)))))
        (local.set $all (i32.add (local.get $all) (i32.load offset=4 (local.get $parts))))
        (local.set $parts (i32.add (local.get $parts) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $all))
    (i32.const 0))

  ;; The runtime waits here when every goroutine does: for a timer, the only thing there is to wait for. Up to a millisecond it asks for
  ;; by itself, before a panic ends the program for instance, and need not wait; the host refuses the rest, and says what to do instead.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $happened i32) (result i32)
    (local $duration i64)
    (if (i32.ne (local.get $count) (i32.const 1)) (then (return (i32.const 52))))
    (if (i32.load8_u offset=8 (local.get $in)) (then (return (i32.const 52))))
    (local.set $duration (i64.load offset=24 (local.get $in)))
    (if (i32.and
          (i32.eqz (global.get $inside))
          (i64.gt_u (local.get $duration) (i64.const 1000000)))
      (then (drop (call $sleep (local.get $duration)))))
    ;; One event: of this clock, without an error.
    (memory.fill (local.get $out) (i32.const 0) (i32.const 32))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    (i32.store (local.get $happened) (i32.const 1))
    (i32.const 0))

  ;; 2 is the code of a panic, a deadlock and the like: the runtime has written what happened to standard error.
  (func (export "proc_exit") (param $code i32)
    (if (i32.ne (local.get $code) (i32.const 2))
      (then (call $exit (i32.ne (local.get $code) (i32.const 0)))))
    unreachable)

  (func (export "sched_yield") (result i32) (i32.const 0))

  ;; No arguments, no environment.
  (func $none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (export "args_sizes_get" (func $none))
  (export "environ_sizes_get" (func $none))
  (func $nothing (param i32 i32) (result i32) (i32.const 0))
  (export "args_get" (func $nothing))
  (export "environ_get" (func $nothing))

  ;; Of files there are the three standard ones, and no folder that others could be found in.
  (func $is_standard (param $file i32) (result i32) (i32.lt_u (local.get $file) (i32.const 3)))
  (func (export "fd_fdstat_get") (param $file i32) (param $stat i32) (result i32)
    (if (i32.eqz (call $is_standard (local.get $file))) (then (return (i32.const 8))))
    (memory.fill (local.get $stat) (i32.const 0) (i32.const 24))
    ;; A character device.
    (i32.store8 (local.get $stat) (i32.const 2))
    (i32.const 0))
  (func (export "fd_filestat_get") (param $file i32) (param $stat i32) (result i32)
    (if (i32.eqz (call $is_standard (local.get $file))) (then (return (i32.const 8))))
    (memory.fill (local.get $stat) (i32.const 0) (i32.const 64))
    (i32.store8 offset=16 (local.get $stat) (i32.const 2))
    (i32.const 0))
  (func (export "fd_close") (param $file i32) (result i32)
    (select (i32.const 0) (i32.const 8) (call $is_standard (local.get $file))))
  (func (export "fd_sync") (param $file i32) (result i32)
    (select (i32.const 0) (i32.const 8) (call $is_standard (local.get $file))))
  (func (export "fd_fdstat_set_flags") (param $file i32) (param i32) (result i32)
    (select (i32.const 0) (i32.const 8) (call $is_standard (local.get $file))))
  ;; Standard input is empty.
  (func (export "fd_read") (param $file i32) (param i32) (param i32) (param $read i32) (result i32)
    (if (local.get $file) (then (return (i32.const 8))))
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func $pio (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (export "fd_pread" (func $pio))
  (export "fd_pwrite" (func $pio))
  (export "fd_readdir" (func $pio))
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 8))
  (func $three (param i32 i32 i32) (result i32) (i32.const 44))
  (export "path_create_directory" (func $three))
  (export "path_remove_directory" (func $three))
  (export "path_unlink_file" (func $three))
  (func $five (param i32 i32 i32 i32 i32) (result i32) (i32.const 44))
  (export "path_filestat_get" (func $five))
  (export "path_symlink" (func $five))
  (func $six (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 44))
  (export "path_readlink" (func $six))
  (export "path_rename" (func $six))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 44))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 44))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 44)))
