// Crawlee has its pages judged: npm install, then node publish_pages.mjs SERVERS TOPIC URL...
// What a record holds: docs/reference/pages.asyncapi.yaml.
import { CheerioCrawler, Configuration } from '@crawlee/cheerio';
import { Kafka, logLevel } from 'kafkajs';

const [servers, topic, ...urls] = process.argv.slice(2);
const kafka = new Kafka({ brokers: servers.split(','), logLevel: logLevel.WARN });
const producer = kafka.producer();
await producer.connect();

const crawler = new CheerioCrawler({
    async requestHandler({ request, response, body, contentType, enqueueLinks }) {
        const url = request.loadedUrl; // the last one of redirects
        await producer.send({ // waits until all brokers have it; if it raises, Crawlee tries the page again
            topic,
            messages: [{
                key: url,
                value: body, // Crawlee has decoded it: so its encoding is that in which it is written here
                headers: {
                    url,
                    status: String(response.statusCode),
                    content_type: contentType.type, // without the charset that it came with
                    encoding: 'utf-8',
                    fetched: String(Date.now()),
                    spider: 'crawlee',
                },
            }],
        });
        await enqueueLinks();
    },
}, new Configuration({ persistStorage: false }));

await crawler.run(urls);
await producer.disconnect();
