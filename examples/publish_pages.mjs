// A Crawlee crawl publishes its pages for the workers: npm install, then node publish_pages.mjs SERVERS TOPIC URL...
// The fields of a record: docs/reference/pages.asyncapi.yaml.
import { CheerioCrawler, Configuration } from '@crawlee/cheerio';
import { Kafka, logLevel } from 'kafkajs';

const [servers, topic, ...urls] = process.argv.slice(2);
const kafka = new Kafka({ brokers: servers.split(','), logLevel: logLevel.WARN });
const producer = kafka.producer();
await producer.connect();

const crawler = new CheerioCrawler({
    async requestHandler({ request, response, body, contentType, enqueueLinks }) {
        const url = request.loadedUrl; // the last URL of the redirects
        await producer.send({ // waits until all brokers have the page; if it raises, Crawlee tries the page again
            topic,
            messages: [{
                key: url,
                value: body, // Crawlee has decoded the body, so its encoding is the one written here
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
