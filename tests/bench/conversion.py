#!/usr/bin/env python3
"""Times ConversionReviews at a host: one object, and 500 objects in one review.

  conversion.py DEFINITION OBJECT VERSION    names of a CustomResourceDefinition and of one of its objects (NAMESPACE/NAME), and the
                                             version to convert to; with the KUBECONFIG of the cluster

The host is the conversion webhook of the definition. Each review has a connection of its own, as those of many clients have.
"""
import base64
import http.client
import json
import ssl
import subprocess
import sys
import time
import urllib.parse


def kubectl(*args):
    return json.loads(subprocess.run(["kubectl", "get", *args, "-o", "json"], check=True, stdout=subprocess.PIPE).stdout)


def main(definition, name, version):
    config = kubectl("crd", definition)["spec"]["conversion"]["webhook"]["clientConfig"]
    namespace, name = name.split("/")
    one = kubectl(definition, name, "-n", namespace)
    group = definition.split(".", 1)[1]
    url = urllib.parse.urlsplit(config["url"])
    context = ssl.create_default_context(cadata=base64.b64decode(config["caBundle"]).decode())

    def review(objects):
        body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
            "uid": "u", "desiredAPIVersion": group + "/" + version, "objects": objects}})
        connection = http.client.HTTPSConnection(url.hostname, url.port, context=context)
        connection.connect()
        began = time.perf_counter()
        connection.request("POST", url.path + "?timeout=30s", body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        took = time.perf_counter() - began
        connection.close()
        assert answer["response"]["result"]["status"] == "Success", answer
        assert len(answer["response"]["convertedObjects"]) == len(objects)
        return took * 1000

    print("| objects | reviews | p50, ms | p99, ms |\n| --- | --- | --- | --- |")
    for count, times in ((1, 2000), (500, 200)):
        review([one] * count)
        took = sorted(review([one] * count) for _ in range(times))
        print("| %d | %d | %.2f | %.2f |" % (count, times, took[len(took) // 2], took[len(took) * 99 // 100]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
