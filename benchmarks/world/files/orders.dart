import 'dart:async';
import 'package:flutter/material.dart';

/// The list of orders.
class OrderList extends StatefulWidget {
  const OrderList({super.key, required this.orders});

  final List<Order> orders;

  @override
  State<OrderList> createState() => _OrderListState();
}

class _OrderListState extends State<OrderList> {
  Timer? _timer;
  static const help = '''
usage: orders
// no comment
''';

  @override
  void initState() {
    super.initState();
    _timer = Timer.periodic(const Duration(seconds: 1), (_) {
      setState(() {});
    });
  }

  /* One row
     an order. */
  @override
  Widget build(BuildContext context) {
    return ListView(
      children: [
        for (final order in widget.orders)
          ListTile(
            title: Text(order.state),
            onTap: () {
              debugPrint('${order.number}');
            },
          ),
      ],
    );
  }
}
