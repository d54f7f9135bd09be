// Command workers uses what a fork keeps in the folder of the timed workers.
package main

import (
	"fmt"
	"time"

	"example.org/fork/scheduler"
)

func main() {
	evictor := scheduler.NewEvictor(func(pod string) { fmt.Println("evict", pod) })
	evictor.Evict("default", "now", 0)
	evictor.Wait()
	fmt.Println(evictor.Evict("default", "later", time.Hour), evictor.Cancel("default", "later"), evictor.Cancel("default", "later"))
	evictor.Evict("default", "soon", 10*time.Millisecond)
	evictor.Wait()
}
