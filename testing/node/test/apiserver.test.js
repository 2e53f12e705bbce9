// The server with somebody else's client: @kubernetes/client-node.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { CoreV1Api, KubeConfig, KubernetesObjectApi, Watch, makeInformer } from '@kubernetes/client-node';
import { startApiServer } from 'oarlock-apiserver';

async function started(t, settings) {
  const server = await startApiServer(settings);
  t.after(() => server.stop());
  const config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  return { server, config, core: config.makeApiClient(CoreV1Api) };
}

const map = (name) => ({ namespace: 'default', body: { metadata: { name }, data: { of: name } } });

test('objects are written, listed and watched', async (t) => {
  const { config, core } = await started(t);
  const made = await core.createNamespacedConfigMap(map('a'));
  await core.createNamespacedConfigMap(map('b'));
  const listed = await core.listNamespacedConfigMap({ namespace: 'default' });
  assert.deepEqual(listed.items.map((item) => item.metadata.name), ['a', 'b']);
  const seen = await new Promise((resolve, reject) => {
    const from = { resourceVersion: made.metadata.resourceVersion };
    new Watch(config)
      .watch('/api/v1/namespaces/default/configmaps', from, (type, object) => resolve([type, object.metadata.name]), reject)
      .then((request) => t.after(() => request.abort()));
  });
  assert.deepEqual(seen, ['ADDED', 'b']);
});

test('a fault strikes as often as it says', async (t) => {
  const { server, core } = await started(t);
  const id = await server.fault({ requests: { verbs: ['create'] }, times: 1, fault: { answer: { code: 503 } } });
  assert.equal(id, 'rule-1');
  await assert.rejects(core.createNamespacedConfigMap(map('a')), { code: 503 });
  assert.equal((await core.createNamespacedConfigMap(map('a'))).data.of, 'a');
  await assert.rejects(server.fault({ fault: { answer: { code: 200 } } }), /fault.answer.code/);
});

test('an informer outlives watches that break', async (t) => {
  const { server, config, core } = await started(t);
  await server.fault({ fault: { closeWatch: { afterEvents: 1, cut: true } } });
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', () =>
    core.listNamespacedConfigMap({ namespace: 'default' }),
  );
  const names = new Set();
  const all = new Promise((resolve) => {
    informer.on('add', (object) => names.add(object.metadata.name).size === 5 && resolve());
  });
  let stopped = false;
  informer.on('error', () => stopped || informer.start());
  await informer.start();
  for (const name of ['a', 'b', 'c', 'd', 'e']) await core.createNamespacedConfigMap(map(name));
  await all;
  stopped = true;
  await informer.stop();
});

test('server-side apply by the generic client', async (t) => {
  const { config } = await started(t);
  const objects = KubernetesObjectApi.makeApiClient(config);
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' }, data: { x: '1' } };
  const applied = await objects.patch(object, undefined, undefined, 'tests', true, 'application/apply-patch+yaml');
  assert.equal(applied.metadata.managedFields[0].manager, 'tests');
});

test('a server that cannot start says why', async () => {
  await assert.rejects(startApiServer({ options: ['--faults', '/nowhere/rules'] }), /nowhere\/rules/);
  await assert.rejects(startApiServer({ program: '/nowhere/oarlock' }), /nowhere\/oarlock/);
});

test('a stopped server leaves nothing behind', async () => {
  const server = await startApiServer();
  await server.stop();
  assert.ok(!existsSync(server.kubeconfig));
  await assert.rejects(fetch(server.url));
});
