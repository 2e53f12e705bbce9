// Conversion of custom resources between the versions of their definition: values that a version lacks, in annotations.

import { ConversionError } from "./errors.js";

/** Keeps a value that the object's new version lacks in an annotation, as JSON. Null or undefined removes the annotation. */
export function keep(object, annotation, value) {
  const annotations = (object.metadata.annotations ??= {});
  if (value == null) delete annotations[annotation];
  else annotations[annotation] = JSON.stringify(value);
  withoutEmptyAnnotations(object);
}

/** Takes a value that `keep` kept out of its annotation; null if there is none. A ConversionError when it is not JSON. */
export function restore(object, annotation) {
  const kept = object.metadata.annotations?.[annotation];
  if (kept === undefined) return null;
  delete object.metadata.annotations[annotation];
  withoutEmptyAnnotations(object);
  try {
    return JSON.parse(kept);
  } catch (cause) {
    throw new ConversionError(`annotation ${annotation} is not JSON, remove it: ${cause.message}`, { cause });
  }
}

function withoutEmptyAnnotations({ metadata }) {
  if (Object.keys(metadata.annotations).length === 0) delete metadata.annotations;
}
