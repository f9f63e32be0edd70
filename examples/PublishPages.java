import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Fetches and publishes pages: java -cp 'kafka-clients.jar:slf4j-api.jar' PublishPages.java SERVERS TOPIC URL...
 * with the jars of org.apache.kafka:kafka-clients. The fields of a record: docs/reference/pages.asyncapi.yaml.
 */
public class PublishPages {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "max.request.size", 8 << 20);
        var client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            for (int place = 2; place < arguments.length; place++) {
                var request = HttpRequest.newBuilder(URI.create(arguments[place])).build();
                var response = client.send(request, BodyHandlers.ofByteArray());
                var url = response.uri().toString(); // the last URL of the redirects
                var page = new ProducerRecord<>(arguments[1], url, response.body()); // the bytes, not decoded
                var type = response.headers().firstValue("content-type");
                page.headers().add("url", url.getBytes("UTF-8"));
                page.headers().add("status", String.valueOf(response.statusCode()).getBytes("UTF-8"));
                page.headers().add("fetched", String.valueOf(System.currentTimeMillis()).getBytes("UTF-8"));
                page.headers().add("spider", "java".getBytes("UTF-8"));
                if (type.isPresent()) page.headers().add("content_type", type.get().getBytes("UTF-8"));
                producer.send(page, (sent, error) -> { // called when all brokers have the page, or when it is lost
                    if (error != null) System.err.println(url + " is not sent: " + error);
                });
            }
        } // waits until all pages are sent
    }
}
