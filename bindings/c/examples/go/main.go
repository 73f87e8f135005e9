// Which of these texts are near-duplicates? libsimidx from Go, by cgo.
//
//	CGO_CFLAGS="$(pkg-config --cflags simidx)" CGO_LDFLAGS="$(pkg-config --libs simidx)" go run . pages.simidx
package main

/*
#include <simidx.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// call runs a function of the library. Its message belongs to a thread, so that the goroutine must not leave it.
func call(f func() C.simidx_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := f(); status != C.SIMIDX_OK {
		return fmt.Errorf("simidx: %s (%s)", C.GoString(C.simidx_error_message()), C.GoString(C.simidx_status_name(C.int32_t(status))))
	}
	return nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// query finds all fingerprints within a distance. The buffer grows to what the last query needed.
func query(searcher *C.simidx_searcher, fingerprint uint64, distance uint32, buffer []C.simidx_match) ([]C.simidx_match, error) {
	of := C.simidx_fingerprint{low: C.uint64_t(fingerprint)}
	var found C.size_t
	err := call(func() C.simidx_status {
		return C.simidx_query(searcher, of, C.uint32_t(distance), &buffer[0], C.size_t(len(buffer)), &found)
	})
	if err == nil && int(found) > len(buffer) {
		return query(searcher, fingerprint, distance, make([]C.simidx_match, found))
	}
	return buffer[:found], err
}

// numberIDs has the ids of a fingerprint.
func numberIDs(index *C.simidx_index, fingerprint C.simidx_fingerprint) ([]uint64, error) {
	ids := make([]uint64, 16)
	for {
		var found C.size_t
		err := call(func() C.simidx_status {
			return C.simidx_number_ids(index, fingerprint, (*C.uint64_t)(&ids[0]), C.size_t(len(ids)), &found)
		})
		if err != nil || int(found) <= len(ids) {
			return ids[:found], err
		}
		ids = make([]uint64, found)
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . INDEX")
		os.Exit(2)
	}
	path := C.CString(os.Args[1])
	defer C.free(unsafe.Pointer(path))
	name := C.CString("web")
	defer C.free(unsafe.Pointer(name))
	texts := []string{
		"The quick brown fox jumps over the lazy dog, and the dog sleeps on in the sun",
		"Whatever is on this line, it is about something else: ships, and the sea, and the wind",
		"the QUICK brown fox jumps over the lazy dog; and the dog sleeps on in the sun!",
	}

	var pipeline *C.simidx_pipeline
	check(call(func() C.simidx_status { return C.simidx_pipeline_open(name, 64, &pipeline) }))
	defer C.simidx_pipeline_close(pipeline)
	fingerprints := make([]uint64, len(texts))
	for i, text := range texts {
		bytes := C.CString(text)
		var out C.simidx_fingerprint
		check(call(func() C.simidx_status {
			return C.simidx_fingerprint_text(pipeline, bytes, C.size_t(len(text)), &out)
		}))
		C.free(unsafe.Pointer(bytes))
		fingerprints[i] = uint64(out.low)
	}

	// A struct of options with pointers is memory of C: Go would not let a pointer to memory of its own be stored in one.
	options := (*C.simidx_build_options)(C.calloc(1, C.sizeof_simidx_build_options))
	defer C.free(unsafe.Pointer(options))
	options.struct_size = C.sizeof_simidx_build_options
	options.pipeline = pipeline
	options.id_numbers = (*C.uint64_t)(C.calloc(C.size_t(len(texts)), 8))
	defer C.free(unsafe.Pointer(options.id_numbers))
	ids := (*[1 << 20]uint64)(unsafe.Pointer(options.id_numbers))[:len(texts):len(texts)]
	for i := range ids {
		ids[i] = uint64(i)
	}
	check(call(func() C.simidx_status {
		return C.simidx_build(path, unsafe.Pointer(&fingerprints[0]), 64, C.size_t(len(fingerprints)), 3, options)
	}))

	var index *C.simidx_index
	check(call(func() C.simidx_status { return C.simidx_open(path, nil, &index) }))
	defer C.simidx_close(index)
	var searcher *C.simidx_searcher
	check(call(func() C.simidx_status { return C.simidx_searcher_new(index, &searcher) }))
	defer C.simidx_searcher_free(searcher)
	buffer := make([]C.simidx_match, 1)
	for i, fingerprint := range fingerprints {
		found, err := query(searcher, fingerprint, 3, buffer)
		check(err)
		for _, match := range found {
			ids, err := numberIDs(index, match.fingerprint)
			check(err)
			for _, id := range ids {
				if id != uint64(i) {
					fmt.Printf("text %d is near text %d, at distance %d\n", i, id, match.distance)
				}
			}
		}
	}
}
