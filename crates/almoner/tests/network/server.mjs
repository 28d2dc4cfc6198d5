// A server of a model, of a tool and of a page, with a certificate of a private authority or without any.
// Arguments: the files of the certificate and its key, if it has any. It prints its port.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const [cert, key] = process.argv.slice(2);

const chat = { choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }] };
const tool = { name: 'echo', description: 'Says a word again.', inputSchema: { type: 'object', properties: {} } };

const results = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'small', version: '1' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'echoed' }] }),
};

const answer = (request, body) => {
  if (request.url.endsWith('/chat/completions')) return [200, chat];
  if (request.url === '/page') return [200, { page: 'hello' }];
  if (request.url !== '/mcp') return [404, { error: 'no such page' }];
  const message = JSON.parse(body || '{}');
  if (message.id === undefined) return [202, null];
  const result = results[message.method];
  if (!result) return [200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } }];
  return [200, { jsonrpc: '2.0', id: message.id, result: result(message.params ?? {}) }];
};

const listener = (request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    const [status, value] = answer(request, body);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(value === null ? '' : JSON.stringify(value));
  });
};

const server = cert
  ? https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, listener)
  : http.createServer(listener);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
