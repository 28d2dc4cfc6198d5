// A real authorization server, and a tool server that wants its tokens. Both are on this machine.
// It prints the port of the tool server, and then a line for each token that the tool server was sent.
// Argument: for how many seconds a token for requests is valid.
import http from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.TOOLS}/package.json`);
const { default: Provider } = await import(require.resolve('oidc-provider'));
const seconds = Number(process.argv[2]);

const listen = (server) =>
  new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));

let handleLogin;
const loginServer = http.createServer((request, response) => handleLogin(request, response));
const issuer = `http://127.0.0.1:${await listen(loginServer)}`;
let handleTools;
const toolServer = http.createServer((request, response) => handleTools(request, response));
const port = await listen(toolServer);
const resource = `http://127.0.0.1:${port}/mcp`;

const grants = new Set();
const provider = new Provider(issuer, {
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, indicator) => {
        if (indicator !== resource) throw new Error('another resource');
        return { scope: 'tools', accessTokenFormat: 'opaque', accessTokenTTL: seconds, audience: resource };
      },
      useGrantedResource: () => true,
    },
  },
  scopes: ['openid', 'offline_access', 'tools'],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  cookies: { keys: ['a key of a test'] },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  clientBasedCORS: () => false,
});
provider.on('server_error', (_, error) => console.error(error));
provider.on('grant.error', (_, error) => console.error(error.message, error.error_description));

const callback = provider.callback();
handleLogin = async (request, response) => {
  if (!request.url.startsWith('/interaction/')) return callback(request, response);
  // The person logs in and agrees at once.
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: 'ada', clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addResourceScope(resource, 'tools');
  const grantId = await grant.save();
  grants.add(grantId);
  const result = { login: { accountId: 'ada' }, consent: { grantId } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
};

const tool = { name: 'echo', description: 'Says a word again.', inputSchema: { type: 'object', properties: {} } };
const results = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'guarded', version: '1' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  // The answer repeats the token, which must not reach anybody.
  'tools/call': (_, token) => ({ content: [{ type: 'text', text: `echoed ${token}` }] }),
};

const about = { resource, authorization_servers: [issuer], scopes_supported: ['tools'] };
const answer = async (request, body) => {
  if (request.url === '/.well-known/oauth-protected-resource/mcp') return [200, about];
  if (request.url === '/revoke') {
    for (const grantId of grants) {
      await provider.AccessToken.revokeByGrantId(grantId);
      await provider.RefreshToken.revokeByGrantId(grantId);
    }
    return [200, {}];
  }
  const sent = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  const token = sent && (await provider.AccessToken.find(sent));
  console.log(`${token?.isValid && token.aud === resource ? 'valid' : sent ? 'invalid' : 'none'} ${sent ?? ''}`);
  if (!token?.isValid || token.aud !== resource) return [401, { error: 'a login is wanted' }];
  const message = JSON.parse(body || '{}');
  if (message.id === undefined) return [202, null];
  const result = results[message.method];
  if (!result) return [200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } }];
  return [200, { jsonrpc: '2.0', id: message.id, result: result(message.params ?? {}, sent) }];
};

handleTools = (request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', async () => {
    const [status, value] = await answer(request, body);
    const place = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
    if (status === 401) response.setHeader('www-authenticate', `Bearer resource_metadata="${place}", scope="tools"`);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(value === null ? '' : JSON.stringify(value));
  });
};
console.log(port);
