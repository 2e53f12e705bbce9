package oarlocktest

import (
	"fmt"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/conversion"
)

// Convert is an object in another API version, by a converter. It fails also when the host would refuse the answer. A panic goes on in the
// test, as it does of code that asks the host for more than the log.
func Convert(convert conversion.Converter, object any, desired string) (Object, error) {
	given := toObject(object)
	answer, err := convert(copied(given), desired)
	if err != nil {
		return nil, err
	}
	converted := toObject(answer)
	if found := oarlock.Text(converted, "apiVersion"); found != desired {
		return nil, fmt.Errorf("the converter answered apiVersion %q instead of %q", found, desired)
	}
	for _, path := range [][]string{{"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"}} {
		if oarlock.Text(given, path...) != oarlock.Text(converted, path...) {
			return nil, fmt.Errorf("the converter answered another %s than the object has", path[len(path)-1])
		}
	}
	return converted, nil
}
