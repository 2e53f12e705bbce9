#!/usr/bin/env python3
"""Write the scenarios of cases/cel: CustomResourceDefinitions with rules in CEL, each sent as a dry run.

    cel.py FOLDER                                         # the scenarios without answers
    replay.py --server URL --record --cases FOLDER        # answers of a server
    cel.py --slim FOLDER                                  # keep of an accepted definition that it was accepted

The order is fixed: the same program writes the same scenarios. Where a size is just within the cost limit and the next one
is not, both were found by trying against a real server.
"""
import json
import os
import re
import sys

S = {"type": "string"}


def text(n=None, **more):
    return dict(S, **({} if n is None else {"maxLength": n}), **more)


def escaped(name):
    for sign, word in (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")):
        name = name.replace(sign, word)
    return name


def array(items, n=None, **more):
    return dict({"type": "array", "items": items}, **({} if n is None else {"maxItems": n}), **more)


def mapping(values, n=None, **more):
    return dict({"type": "object", "additionalProperties": values}, **({} if n is None else {"maxProperties": n}), **more)


def obj(rules=(), required=(), **properties):
    out = {"type": "object", "properties": properties}
    if required:
        out["required"] = list(required)
    return ruled(out, rules)


def ruled(schema, rules):
    if isinstance(rules, (str, dict)):
        rules = [rules]
    rules = [r if isinstance(r, dict) else {"rule": r} for r in rules]
    return dict(schema, **{"x-kubernetes-validations": rules}) if rules else schema


INT, BOOL, NUMBER = {"type": "integer"}, {"type": "boolean"}, {"type": "number"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
ANY = {"x-kubernetes-preserve-unknown-fields": True}
UNBOUND, SHORT = text(), text(20)
THEMES = {}


def case(theme, schema):
    THEMES.setdefault(theme, []).append(schema)


def strings():
    for s in (None, 30, 20000, 500000):
        for rule in ("self.s.contains('abc')", "self.s.contains(self.t)", "self.s.startsWith(self.t)", "self.s == self.t",
                     "self.s != 'a'", "self.s < self.t", "self.s.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
                     "self.s.matches(self.t)", "self.s + self.t != 'x'", "self.s.split(',').all(p, p.size() < 20)",
                     "self.s.split('.').map(p, p.trim()).join('/') == self.t", "self.s.find('[0-9]+') == '12'"):
            case("strings", obj(rule, s=text(s), t=text(s)))
    for rule in ("self.s.findAll('[0-9]+').size() < 3", "self.s.findAll('[a-z]', 2).all(x, x != self.t)",
                 "self.s.replace('a', 'bb').replace('b', 'cc').contains('d')", "self.s.replace('', 'ab', 2) == self.t",
                 "self.s.lowerAscii().upperAscii() == self.t", "self.s.substring(2, 4) == 'ab' && self.s.charAt(0) == 'a'",
                 "self.s.trim().indexOf('b') > self.s.lastIndexOf('c', 3)", "'%s-%d'.format([self.s, 1]) == self.t",
                 "strings.quote(self.s) == self.t", "bytes(self.s).size() > 3 && string(bytes(self.t)) == self.s",
                 "self.s in ['a', 'b', self.t]", "self.s.size() > 3 ? self.s == self.t : self.t.endsWith(self.s)",
                 "int(self.s) > 3 && double(self.t) < 2.5 && bool(self.s)", "string(1) == self.s && string(1.5) == self.t",
                 "type(self.s) == string && dyn(self.s) == self.t", "matches(self.s, '^a+$')",
                 "self.s.split(',', 3).size() == 3 && self.s.split(',', 3).exists(x, x == self.t)",
                 "r'\\d' + \"x\" + '''y''' != self.s", "self.s.join(',') == 'a'", "self.s.reverse() == self.t"):
        for s in (None, 2000):
            case("strings", obj(rule, s=text(s), t=text(s)))


def lists():
    item = obj(n=INT, k=SHORT, l=array(SHORT, 10))
    for n in (None, 20, 3000):
        for rule in ("self.l.all(x, x.n > 1)", "self.l.exists(x, x.k == 'a')", "self.l.exists_one(x, x.k.startsWith('b'))",
                     "self.l.all(x, self.l.exists_one(y, y.k == x.k))", "self.l.map(x, x.n).sum() < 20",
                     "self.l.filter(x, has(x.k)).size() > 0", "self.l.map(x, x.n > 1, x.k).all(k, k != '')",
                     "self.l.all(x, x.l.all(y, y != x.k))", "self.l.size() < 3 && size(self.l) > 1",
                     "self.l[0].k == self.l[1].k", "self.l.map(x, x.k).distinct().size() == self.l.size()",
                     "self.l.sortBy(x, x.n)[0].n == 1"):
            case("lists", obj(rule, l=array(item, n)))
        for rule in ("self.l.isSorted()", "self.l.max() == self.l.min()", "self.l.indexOf('a') < self.l.lastIndexOf('b')",
                     "self.l.sort() == self.l", "self.l.reverse().first().orValue('') == self.l.last().orValue('')",
                     "self.l.join(',').size() < 20", "'a' in self.l", "sets.contains(self.l, ['a', 'b'])",
                     "sets.equivalent(self.l, self.m) || sets.intersects(self.l, self.m)",
                     "(self.l + self.m).all(x, x.size() > 2)", "[self.l, self.m].flatten().size() < 3",
                     "self.l.slice(0, 2).all(x, x == 'a')", "lists.range(10).all(i, self.l[i] != 'x')"):
            case("lists", obj(rule, l=array(SHORT, n), m=array(SHORT, n)))
    for rule in ("self.l.all(i, x, x > i)", "self.l.exists(i, x, self.m[i] == x)", "self.l.existsOne(i, x, x == 3)",
                 "self.l.transformList(i, x, x * i).sum() > 0", "self.l.transformList(i, x, i > 0, x).size() > 0",
                 "self.l.transformMap(i, x, x > 1).size() == 2", "self.l.transformMapEntry(i, x, {x: i}).size() == 2"):
        for n in (None, 100):
            case("lists", obj(rule, l=array(INT, n), m=array(INT, n)))


def maps():
    for n in (None, 30):
        for rule in ("self.m.all(k, k.startsWith('a'))", "self.m.all(k, self.m[k].contains('b'))", "'a' in self.m",
                     "has(self.m.a) && self.m.a == 'b'", "self.m['a'] == self.m['b']", "self.m.exists(k, v, k == v)",
                     "self.m.transformMap(k, v, v.size()).all(k, k.size() < 2)", "self.m.map(k, self.m[k]).join('').size() > 2",
                     "self.m == oldSelf.m", "{'a': self.m}['a'].size() < 3", "self.m.all(k, k in self.o)",
                     "self.m.filter(k, k.matches('^[a-z]+$')).size() == self.m.size()"):
            case("maps", obj(rule, m=mapping(text(50), n), o=mapping(INT, n)))
    case("maps", obj("self.m.all(k, self.m[k].all(x, x.all(y, y.a == 'b')))", m=mapping(array(array(obj(a=SHORT))))))
    case("maps", obj("self.m.all(k, self.m[k].all(x, x.all(y, y.a == 'b')))", m=mapping(array(array(obj(a=SHORT), 10), 10), 10)))


def libraries():
    for n in (None, 64):
        for rule in ("isIP(self.s) && ip(self.s).family() == 4", "ip(self.s) == ip(self.t)", "ip(self.s) != ip(self.t)",
                     "cidr(self.s).containsIP(self.t)", "cidr(self.s).containsIP(ip(self.t))", "cidr(self.s).containsCIDR(self.t)",
                     "cidr(self.s).containsCIDR(cidr(self.t))", "cidr(self.s).masked().ip() == ip(self.t)",
                     "cidr(self.s) != cidr(self.t)", "cidr(self.s).prefixLength() < 30 && string(cidr(self.s)) == self.t",
                     "ip.isCanonical(self.s) && !ip(self.s).isLoopback()", "string(cidr(self.s).masked().ip()) != self.t",
                     "isQuantity(self.s) && quantity(self.s).isLessThan(quantity(self.t))",
                     "quantity(self.s).add(quantity('1Gi')).sub(3).compareTo(quantity(self.t)) == 0",
                     "quantity(self.s) == quantity(self.t)", "quantity(self.s) != quantity(self.t)",
                     "isURL(self.s) && url(self.s).getScheme() == 'https' && url(self.s).getHost() == self.t",
                     "url(self.s) == url(self.t)", "url(self.s).getQuery()['a'].size() == 1",
                     "!format.dns1123Label().validate(self.s).hasValue()",
                     "format.named('uri').value().validate(self.s).orValue([]).size() == 0",
                     "format.dns1123Subdomain() == format.uuid()", "isSemver(self.s) && semver(self.s).major() > 1",
                     "semver(self.s, true).isLessThan(semver(self.t))", "semver(self.s) == semver(self.t)",
                     "timestamp(self.s) > timestamp(self.t) && duration(self.s) < duration('1h')",
                     "authorizer.group('').resource('pods').check('get').allowed()", "math.greatest(1, 2) > 1",
                     "base64.decode(self.s).size() > 1", "cel.bind(x, self.s, x == self.t)"):
            case("libraries", obj(rule, s=text(n), t=text(n)))


def optionals():
    item = obj(a=SHORT, b=INT, c=obj(d=UNBOUND), l=array(SHORT, 5))
    for rule in ("self.?a.orValue('x') == 'x'", "self.?c.d.orValue('') == self.a", "self.l[?0].orValue('') == 'a'",
                 "self.?b.hasValue() || self.?a.hasValue()", "self.?a.optMap(x, x.size()).orValue(0) > 2",
                 "self.?c.optFlatMap(c, c.?d).orValue('') == ''", "[?self.?a, 'b'].size() == 2", "{?'a': self.?a}.size() == 1",
                 "optional.of(self.a).value() == 'a'", "optional.none().or(optional.of(1)).value() == 1",
                 "optional.ofNonZeroValue(self.a).hasValue()", "self.?a == optional.none()", "self.?a.or(self.?c.d).orValue('') != ''",
                 "optional.unwrap([self.?a]).size() == 1 && [self.?a].unwrapOpt().size() == 1", "self.?x.orValue(1) == 1",
                 "self.?a.orValue(1) == 1", "[?self.a].size() == 2", "self.?b.optMap('x', 1).hasValue()", "self.?a.x.hasValue()",
                 {"rule": "oldSelf.hasValue() && oldSelf.value().a == self.a", "optionalOldSelf": True},
                 {"rule": "!oldSelf.hasValue() || oldSelf.orValue(self).b < self.b", "optionalOldSelf": True},
                 {"rule": "oldSelf.a == self.a", "optionalOldSelf": True}, {"rule": "oldSelf.?a.orValue('') == self.a", "optionalOldSelf": True},
                 {"rule": "self.a == 'x'", "optionalOldSelf": True}, {"rule": "self.a == 'x'", "optionalOldSelf": False},
                 {"rule": "oldSelf.b < self.b", "optionalOldSelf": False}):
        case("optionals", ruled(item, rule))


def transitions():
    r = "self == oldSelf"
    case("transitions", obj(s=ruled(SHORT, r)))
    case("transitions", obj(s=ruled(UNBOUND, r)))
    case("transitions", obj(o=obj(r, a=SHORT)))
    case("transitions", obj(o=dict(obj(a=ruled(SHORT, r)), **{"x-kubernetes-map-type": "atomic"})))
    case("transitions", obj(l=array(ruled(SHORT, r), 5)))
    case("transitions", obj(l=array(ruled(SHORT, r), 5, **{"x-kubernetes-list-type": "set"})))
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    case("transitions", obj(l=array(obj(required=["k"], k=SHORT, v=ruled(SHORT, r)), 5, **keyed)))
    case("transitions", obj(l=array(obj(required=["k"], k=SHORT, v=ruled(SHORT, r)), None, **keyed)))
    case("transitions", obj(l=array(obj(r, required=["k"], k=SHORT, v=SHORT), 5, **keyed)))
    case("transitions", obj(l=array(obj(r, required=["k"], k=SHORT, v=array(ruled(SHORT, r))), 5, **keyed)))
    case("transitions", obj(m=mapping(ruled(SHORT, r), 5)))
    case("transitions", obj(m=mapping(array(obj(a=ruled(SHORT, r)), 3), 5)))
    case("transitions", obj(l=ruled(array(SHORT, 5), r)))
    case("transitions", obj(l=ruled(array(UNBOUND), "oldSelf.all(x, x in self)")))
    case("transitions", obj(l=array(ruled(SHORT, {"rule": "oldSelf.orValue('') == self", "optionalOldSelf": True}), 5)))


def messages():
    for rule in ({"rule": "self.s == 'a'", "messageExpression": "'s is ' + self.s"},
                 {"rule": "self.s == 'a'", "messageExpression": "self.n"}, {"rule": "self.s == 'a'", "messageExpression": "self.x"},
                 {"rule": "self.s == 'a'", "messageExpression": "'a"}, {"rule": "self.s == 'a'", "messageExpression": "  "},
                 {"rule": "self.x == 'a'", "messageExpression": "self.x"}, {"rule": "self.s == 'a'", "messageExpression": "dyn('a')"},
                 {"rule": "self.s == 'a'", "messageExpression": "self.l.map(x, x + 'y').join(',')"},
                 {"rule": "self.s == 'a'", "messageExpression": "self.u.split(',').map(x, x.replace('a', 'b')).join(self.u)"},
                 {"rule": "self.s == 'a'", "messageExpression": "'%s'.format([self.u])"},
                 {"rule": "self.s == 'a'", "messageExpression": "oldSelf.s"},
                 {"rule": "self.s == 'a'", "message": "a", "messageExpression": "self.u.matches('^(a|b)*$') ? 'a' : 'b'"},
                 {"rule": "self.s == 'a'", "message": "  "}, {"rule": "self.s == 'a'", "message": "a\nb"},
                 {"rule": "self.s ==\n'a'"}, {"rule": "self.s ==\n'a'", "message": "a"}, {"rule": "self.s ==\n  self.x", "message": "a"},
                 {"rule": ""}, {"rule": "  "}, {"rule": "self.s == 'a'", "reason": "FieldValueRequired"},
                 {"rule": "self.s == 'a'", "reason": "Nonsense"}, {"rule": "self.s == 'a'", "fieldPath": ".s"},
                 {"rule": "self.s == 'a'", "fieldPath": ".o.a"}, {"rule": "self.s == 'a'", "fieldPath": ".o['a']"},
                 {"rule": "self.s == 'a'", "fieldPath": "['m']['any key']"}, {"rule": "self.s == 'a'", "fieldPath": ".m.key"},
                 {"rule": "self.s == 'a'", "fieldPath": ".x"}, {"rule": "self.s == 'a'", "fieldPath": "s"},
                 {"rule": "self.s == 'a'", "fieldPath": ".l[0]"}, {"rule": "self.s == 'a'", "fieldPath": ".s\n"},
                 {"rule": "self.s == 'a'", "fieldPath": " "}, {"rule": "self.s == 'a'", "fieldPath": ".o."},
                 {"rule": "self.s == 'a'", "fieldPath": ".o['b']"}, {"rule": "self.s == 'a'", "fieldPath": ".o.a.b"}):
        case("messages", obj(rule, s=SHORT, n=INT, u=UNBOUND, l=array(SHORT, 3), o=obj(a=INT), m=mapping(INT)))


def types():
    kinds = dict(s=SHORT, n=INT, b=BOOL, f=NUMBER, p=INT_OR_STRING, any=ANY, o=obj(a=INT), e=obj(), l=array(SHORT, 3), lo=array(obj(a=INT), 3),
                 m=mapping(INT, 3), t=text(format="date-time"), d=text(format="duration"), day=text(format="date"), y=text(format="byte"),
                 namespace=SHORT, true=BOOL, q=dict(INT, nullable=True), em={"type": "object", "x-kubernetes-embedded-resource": True,
                 "x-kubernetes-preserve-unknown-fields": True}, pr=obj(a=INT) | {"x-kubernetes-preserve-unknown-fields": True},
                 w={"type": "string", "enum": ["ab", "cde"]})
    kinds["a-b"], kinds["c__d"], kinds["e.f/g"] = SHORT, SHORT, SHORT
    for rule in ("self.n == 'x'", "self.n == self.f", "self.n < self.f", "self.n + self.f > 1.0", "self.s + 1 == 'a'", "self.s == null",
                 "self.q == null", "self.n", "self.s", "dyn(true)", "self.p", "self.p == 1 || self.p == 'a'", "self.p.contains('x')",
                 "type(self.p) == int ? self.p < 5 : self.p.matches('^[0-9]+%$')", "self.any == 1", "has(self.any)", "self.e.x == 1",
                 "has(self.o.a) && has(self.s)", "has(self.x)", "has(self)", "self.o == self.e", "self.o == self.o", "self.lo[0] == self.o",
                 "self.l == self.lo", "self.l[0].a == 1", "self.s.a == 1", "self.n.startsWith('a')", "self.s.startsWith(1)",
                 "self.s.startWith('a')", "foo(self.s)", "object.s == 'a'", "self.x == 1 && self.y.z == 2", "self.namespace == 'a'",
                 "self.__namespace__ == 'a' && self.__true__", "self.a__dash__b == self.c__underscores__d", "self.e__dot__f__slash__g == 'a'",
                 "self.t > timestamp('2020-01-01T00:00:00Z') && self.t - self.t < self.d", "self.t.getFullYear() > 2020 && self.day < self.t",
                 "self.d > duration('1h')", "self.d == '1h'", "duration('nonsense') > self.d", "timestamp('2020') < self.t",
                 "self.y == b'abc' && self.y.size() > 1", "self.y == 'abc'", "self.s.matches('[')", "self.s.matches('(?=a)')", "[1, 'a'].size() == 2",
                 "['a', 1.5, true].size() == 3", "{'a': 1, 'b': 'c'}.size() == 2", "'%s %d'.format([self.s, self.n]) == ''",
                 "self.n && self.b", "!self.n", "-self.s == ''", "self.b ? self.n : self.s", "(self.b ? self.n : 2) > 1", "self.n in [1, 2] && self.s in self.l",
                 "self.n in self.l", "'a' in self.m && self.m['a'] > 0", "self.m[1] > 0", "self.l['a'] == ''", "self.n.all(x, x > 0)", "self.o.all(x, true)",
                 "self.l.all('x', true)", "self.l.all(x.y, true)", "self.l.all(x, x > 1)", "self.l.map(x, y)", "self.l.existsOne(x, x == 'a')",
                 "self.em.kind == 'Pod' && self.em.metadata.name == 'a'", "self.em.spec.a == 1", "self.em.metadata.labels.a == ''", "self.pr.a == 1", "self.pr.b == 1",
                 "self.w.contains('b') && self.w == 'cde'", "size(self.s) > 1u", "uint(self.n) > 1u && int(2u) > 1", "1 / 0 == 1", "self.f % 2.0 == 1.0",
                 "self.kind == 'a'", "int == type(self.n)", "type(self.l) == list && type(self.m) == map", "self.o{a: 1}.a == 1", "Foo{a: 1} == self.o",
                 "google.protobuf.Duration{seconds: 1} == self.d", "[].size() == 0 && {}.size() == 0", "[] == self.l && {} == self.m", "self.all(x, true)",
                 "self.l.transformList(i, i, i)", "oldSelf.s == self.s", "oldself.s == self.s", "url('a').foo == ''", "ip('1').family == 4",
                 "uint(-1) > 1u", "int(1e300) > 1", "double('x') > 1.0", "bool('tRue')", "uint('-1') > 1u", "int(18446744073709551615u) > 1",
                 "int(' 1') > 1", "int('+1') > 1", "double('1e999') > self.f", "double('0x1p-2') > self.f", "bool('t') || self.b", "self.b || int('x') > 1",
                 "string(b'\\xff') == self.s", "double('infinity') > self.f", "uint(-1.5) > 1u", "timestamp(99999999999999) > self.t"):
        used = {k: v for k, v in kinds.items() if re.search(r"self\??\.\??_*%s\b" % re.escape(escaped(k)), rule)}
        case("types", obj(rule, **used))


def syntax():
    for rule in ("self.s ==", "self.s = 'a'", "self.s == 'a", "self..s == 'a'", "(self.s == 'a'", "self.s == 'a')", "self.s === 'a'",
                 "self.s == 'a' and true", "if self.s == 'a' then true", "self.s == \"\\q\"", "self.l[0 == 'a'", "[1, 2 == 3", "{'a': }",
                 "1 +* 2", "self.for == 1", "true false", "@", "self.s ~= 'a'", "self.s == 0x", "99999999999999999999 > 1", "'a' 'b' == 'ab'"):
        case("syntax", obj(rule, s=SHORT, l=array(SHORT, 3)))


def nesting():
    r = "self.contains('ab')"
    for n in (None, 10, 1000):
        for m in (None, 10, 1000):
            case("nesting", obj(l=array(array(ruled(SHORT, r), m), n)))
            case("nesting", obj(l=mapping(obj(a=array(ruled(text(200), "self.matches('^a+b+c+$')"), m)), n)))
    case("nesting", obj("self.l.map(x, x.k + 'y').join(',').contains('abc')", l=array(obj(k=SHORT), 2)))
    case("nesting", obj("self.l.all(x, self.?m.orValue([]).all(y, y > x))", l=array(INT, 2), m=array(INT, 5)))
    case("nesting", obj({"rule": "true", "messageExpression": "self.l.map(x, x + 'a').join('b')"}, l=array(SHORT, 2)))
    for required in ((), ("a",), ("a", "b")):
        case("nesting", obj(l=array(obj("self.a == self.b", required=required, a=text(100), b=text(100)))))
        case("nesting", obj("self.l.all(x, x.a == x.b)", l=array(obj(required=required, a=text(100), b=text(100)))))
    case("nesting", obj(l=array(obj("self.a == self.b", required=("a",), a=text(100, default="x"), b=text(100)))))
    case("nesting", obj(["self.s.contains('a')", "self.s.contains('b')"], s=UNBOUND))
    case("nesting", obj(["self.s.matches('abcdefghijkl')"] * 12, s=UNBOUND))
    case("nesting", obj(["self.s.matches('abcdefghijklmnopqrstuvwxyz')"] * 20, s=text(400000)))
    case("nesting", obj(l=array(ruled(obj(a=UNBOUND), ["self.a.startsWith('b')"] * 60))))
    case("nesting", obj(l=ruled(array(ANY), "self.size() > 1")))
    case("nesting", obj(a=ruled(ANY, "self == 1")))
    case("nesting", obj(m=ruled(mapping(ANY), "self.size() > 1")))
    case("nesting", obj(o=ruled({"type": "object", "additionalProperties": True}, "self.size() > 1")))
    case("nesting", obj(i=ruled(INT_OR_STRING, "self == 1"), j=ruled(dict(INT_OR_STRING, maxLength=5), "string(self).contains('a')")))
    # Here a server looks up sizes at paths that share memory.
    inner = obj(a=array(SHORT, 5), b=array(SHORT), c=obj(d=array(SHORT), e=array(SHORT, 2)))
    for rule in ("self.l.all(x, x.a.all(y, x.b.size() > 1))", "self.l.all(x, x.b.all(y, x.a.size() > 1))",
                 "self.l.all(x, x.a.exists(y, x.b.exists(z, z == y)))", "self.l.all(x, x.c.d.all(y, x.c.e.all(z, z == y)))",
                 "self.l.all(x, x.c.e.all(y, x.c.d.size() > 0 && x.a.size() > 0))"):
        case("nesting", obj(rule, l=array(inner, 8)))


# Each with the largest size that a server takes; the next one is refused.
LIMITS = [
    (4999, lambda n: obj("self.s.matches(self.s)", s=text(n))),
    (1428571, lambda n: obj("self.l.all(x, x.k == 'abcdefghijkl')", l=array(obj(k=UNBOUND), n))),
    (844, lambda n: obj("self.l.all(x, self.l.exists_one(y, y.k == x.k))", l=array(obj(k=SHORT), n))),
    (107, lambda n: obj("self.l.all(x, self.l.all(y, self.l.all(z, x + y > z)))", l=array(INT, n))),
    (303029, lambda n: obj("self.l.filter(x, x.startsWith('a')).map(x, x.split(',')).all(x, x.all(y, y != ''))", l=array(text(10), n))),
    (2236, lambda n: obj("self.l.distinct().size() == self.l.size()", l=array(SHORT, n))),
    (2182, lambda n: obj("self.l.sort() == self.l", l=array(SHORT, n))),
    (1111110, lambda n: obj("self.l.isSorted()", l=array(SHORT, n))),
    (2236, lambda n: obj("sets.equivalent(self.l, self.m)", l=array(SHORT, n), m=array(SHORT, n))),
    (2497, lambda n: obj("self.m.all(k, self.m[k].contains(self.s))", m=mapping(text(n), 10), s=text(n))),
    (24691, lambda n: obj("self.m.all(k, v, v.matches('^a*$'))", m=mapping(text(1000), n))),
    (769230, lambda n: obj("self.l.all(x, quantity(x).isLessThan(quantity('3')))", l=array(text(16), n))),
    (208333, lambda n: obj("self.l.all(x, isURL(x) && url(x).getHost() == 'a')", l=array(text(100), n))),
    (781247, lambda n: obj("!format.dns1123Label().validate(self.s).hasValue()", s=text(n))),
    (1470587, lambda n: obj("self.s.replace('a', 'bcd').replace('b', 'efg').contains('xyz')", s=text(n))),
    (595237, lambda n: obj("self.s.split(',').all(x, x.lowerAscii() == 'a')", s=text(n))),
    (1428571, lambda n: obj("self.l.all(x, x.?k.orValue('') == 'a')", l=array(obj(k=SHORT), n))),
    (2409, lambda n: obj(l=array(array(ruled(text(100), "self.matches('^abc+$')"), 50), n))),
    (12, lambda n: obj(l=array(obj(["self.a == self.b", "self.b == self.a"], a=text(n), b=text(n))))),
    (347, lambda n: obj(["self.l.all(x, self.l.all(y, x.contains(y)))"] * 12, l=array(text(20), n))),
    (12755, lambda n: obj("self.l.all(x, x.c.d.all(y, x.c.e.all(z, z == y)))", l=array(obj(c=obj(d=array(SHORT, n), e=array(SHORT, 7))), 8))),
    (588234, lambda n: obj("self.l.transformList(i, x, x + i).sum() > 0 && self.l.sum() < 5", l=array(INT, n))),
    (7902, lambda n: obj("self.s == self.t ? self.s.contains(self.t) : self.t.find('[a-z]+') == self.s", s=text(n), t=text(n))),
    (1111110, lambda n: obj("self.l.all(x, x == self.w)", w={"type": "string", "enum": ["abcdefghijklmnopqrstuvwxyz"]}, l=array(SHORT, n))),
]


def limits():
    for n, make in LIMITS:
        case("limits", make(n))
        case("limits", make(n + 1))


def definition(n, schema):
    name = "c%03d" % n
    kind = "C%03d" % n
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name + "s.cel.example.com"},
            "spec": {"group": "cel.example.com", "scope": "Namespaced", "names": {"plural": name + "s", "singular": name, "kind": kind, "listKind": kind + "List"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}}]}}


def corpus():
    for theme in (strings, lists, maps, libraries, optionals, transitions, messages, types, syntax, nesting, limits):
        theme()
    n = 0
    for theme, schemas in THEMES.items():
        made = []
        for schema in schemas:
            made.append(definition(n, schema))
            n += 1
        yield theme, made
    yield "shipped", list(shipped())


def shipped():
    """The definitions in files of this repository."""
    import yaml
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for path in ("plugins/network/crd.yaml", "plugins/network/crd-v2.yaml", "plugins/traffic/crd.yaml",
                 "deploy/crds/initializerconfigurations.yaml", "deploy/crds/plugins.yaml"):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            yield yaml.safe_load(f)


def shown(scenario):
    """One step a line."""
    head = {k: v for k, v in scenario.items() if k != "steps"}
    steps = ",\n".join("    " + json.dumps(step, separators=(", ", ": "), ensure_ascii=False) for step in scenario["steps"])
    return json.dumps(head, indent=2, ensure_ascii=False)[:-2] + ',\n  "steps": [\n' + steps + "\n  ]\n}\n"


def main():
    if sys.argv[1] == "--slim":
        for file in sorted(os.listdir(sys.argv[2])):
            path = os.path.join(sys.argv[2], file)
            with open(path, encoding="utf-8") as f:
                scenario = json.load(f)
            for step in scenario["steps"]:
                if step["expect"]["status"] < 300:
                    step["ignoreBody"] = True
                    step["expect"].pop("body", None)
            with open(path, "w", encoding="utf-8") as f:
                f.write(shown(scenario))
        return
    for theme, made in corpus():
        steps = [{"method": "POST", "path": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "query": {"dryRun": "All"}, "body": body} for body in made]
        scenario = {"name": "cel/" + theme, "area": "cel", "description": "Definitions with rules: " + theme, "steps": steps}
        with open(os.path.join(sys.argv[1], theme + ".json"), "w", encoding="utf-8") as f:
            f.write(shown(scenario))


if __name__ == "__main__":
    main()
